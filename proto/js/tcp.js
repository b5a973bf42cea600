/* proto/js/tcp.js: bodies over TCP or TLS, for Node: a length of four bytes, then the body.
 * May touch: node:net, node:tls. On trouble: a length that cannot be ends the connection.
 */
import net from "node:net";
import tls from "node:tls";

import { BODY_MAX } from "./aegis.js";

const HEAD = 4;

export class TcpTransport {
  onopen = () => {};
  onbody = () => {};
  onclose = () => {};
  #socket;
  #kept = Buffer.alloc(0);

  /** `address`: "host:port". `secure`: options of node:tls for TLS; absent: plain. */
  constructor(address, secure) {
    const at = address.lastIndexOf(":");
    const to = { host: address.slice(0, at).replace(/^\[|\]$/g, ""), port: Number(address.slice(at + 1)) };
    this.#socket = secure ? tls.connect({ ...secure, ...to }) : net.connect(to);
    this.#socket.setNoDelay(true);
    this.#socket.on(secure ? "secureConnect" : "connect", () => this.onopen());
    this.#socket.on("data", (bytes) => this.#take(bytes));
    this.#socket.on("error", () => {});
    this.#socket.on("close", () => this.onclose());
  }

  send(body) {
    const head = Buffer.alloc(HEAD);
    head.writeUInt32BE(body.length);
    this.#socket.write(Buffer.concat([head, body]));
  }

  close() {
    this.#socket.destroy();
  }

  #take(bytes) {
    let all = this.#kept.length > 0 ? Buffer.concat([this.#kept, bytes]) : bytes;
    while (all.length >= HEAD) {
      const n = all.readUInt32BE(0);
      if (n === 0 || n > BODY_MAX) {
        this.#socket.destroy();
        return;
      }
      if (all.length < HEAD + n) break;
      this.onbody(new Uint8Array(all.subarray(HEAD, HEAD + n)));
      all = all.subarray(HEAD + n);
    }
    this.#kept = all.length > 0 ? Buffer.from(all) : Buffer.alloc(0);
  }
}
