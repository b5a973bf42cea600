/* tests/js/types.ts: a program as a user of the package writes it, for the compiler to read.
 * Run by package.test.mjs through tsc. Each line below @ts-expect-error has to be refused.
 */
import { Client, CMD, CODE, readBody, RequestError, Smooth, View, WebSocketTransport } from "aegis-client";
import type { EnterResp, Entity, Transport } from "aegis-client";
import { TcpTransport } from "aegis-client/tcp";

const secure: Transport = new TcpTransport("127.0.0.1:19001", { rejectUnauthorized: true });
const client = new Client({ connect: () => secure, name: "ann", token: () => "t", keepalive: 1000 });
const page = new Client({ connect: () => new WebSocketTransport("wss://a/ws"), name: "ben", token: "t" });

client.on("add", (e: Entity) => e.name.length + e.x);
client.on("back", ({ resumed }) => resumed === true);
const off: () => void = page.on("say", ({ id, text, name }) => `${id} ${text} ${name?.length}`);

export async function play(): Promise<number> {
  const me: EnterResp = await client.enter("town");
  try {
    const place = await client.move(me.x, me.y, { dir: 1 });
    await client.walk(place.x, place.y, true);
  } catch (error) {
    if (error instanceof RequestError && error.code === CODE.move_speed) return error.x ?? 0;
  }
  const view: View = client.view;
  const smooth = new Smooth();
  for (const [id, e] of view.entities) smooth.put(id, e.x, e.y, 0);
  off();
  return (await client.ping()) + (client.self?.x ?? 0) + readBody(new Uint8Array()).seq + CMD.LoginReq;
}

// @ts-expect-error: a name is needed
new Client({ connect: () => secure });
// @ts-expect-error: there is no such event
client.on("added", () => {});
// @ts-expect-error: a place has numbers
void client.move("1", 2);
// @ts-expect-error: nobody writes our own name
client.name = "other";
