/* gateway/web/words.js: what the page says, in plain words. May touch: nothing.
 */

/* By error code: what it means to somebody who wants to walk about. */
const REFUSED = {
  1: "The gateway did not understand this page. Reload it; it may be older than the server.",
  2: "The server does not know what this page asked for. Reload it; it may be older than the server.",
  3: "The server refused that name. It may have up to 32 bytes, and no control characters.",
  4: "The world does not know you any more. Enter again.",
  5: "This page is in already.",
  6: "Somebody of that name is here already. Choose another name, or wait until they have gone.",
  7: "You are not in the world yet.",
  8: "You are in the world already.",
  9: "That was faster than one can walk here.",
  10: "Something is in the way.",
  11: "The world ends there.",
  12: "Too many requests. Wait a moment, then try again.",
  13: "The world is away or full just now. Try again in a moment.",
  14: "This world asks for a token. Enter the one that was made for your name.",
  15: "You were away for too long, and the connection was closed.",
  16: "Your connection was too slow to keep up, and was closed.",
  17: "The server is shutting down.",
  18: "There is no such place.",
  19: "You were asked to leave by an operator.",
  20: "The server speaks another version of the protocol than this page. Reload it.",
};

/** Why a login was refused or a session ended, for a person. `text`: what the server said. */
export function refusal(code, text) {
  return REFUSED[code] ?? `The server says: ${text || `error ${code}`}.`;
}

export const NO_CONNECTION =
  "No connection to the gateway. It may be away, or not let this page in (its -ws-origins says which may).";

export const BAD_TOKEN = "That token was refused. It may be wrong, expired, or for another name.";
export const TAKEN_OVER = "You came in from somewhere else under this name, and this page let go.";

/** An operator's own reason, where there is one. */
export function kicked(reason) {
  const said = plain(reason);
  return said && said !== "removed by an operator or the game" ? `${REFUSED[19]} They say: ${said}` : REFUSED[19];
}

/** Why a walk ended before its goal. */
export function stopped(code) {
  if (code === 13) return "No way was found in time.";
  return code === 10 ? "This is as near as one can get." : "";
}

/* What would turn the direction of text or move the cursor: not letters. */
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/gu;

/** Another's text for one line: without what could make it look like something else. */
export function plain(text) {
  return text.replace(CONTROLS, " ").trim();
}

/** A name for one line; one that shows nothing still has to be called something. */
export function nameOf(name) {
  return plain(name) || "nameless";
}

/** The first letter of a name, as people see it. */
export function initial(name) {
  const [first] = plain(name);
  return first ? first.toLocaleUpperCase("en") : "?";
}

/** "1 player", "3 players". */
export function count(n, one, many) {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}
