/* proto/js/tcp.d.ts: types of tcp.js, which says what each is for. */
import type { ConnectionOptions } from "node:tls";
import type { Transport } from "./aegis.js";

export declare class TcpTransport implements Transport {
  constructor(address: string, secure?: ConnectionOptions);
  onopen: () => void;
  onbody: (body: Uint8Array) => void;
  onclose: () => void;
  send(body: Uint8Array): void;
  close(): void;
}
