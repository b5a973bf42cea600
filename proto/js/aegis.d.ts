/* proto/js/aegis.d.ts: types of aegis.js, which says what each is for. */

export declare const CMD: Readonly<Record<string, number>>;
export declare const CODE: Readonly<Record<string, number>>;
export declare const BODY_MAX: number;

export declare class ContractError extends Error {}

export declare class RequestError extends Error {
  constructor(code: number, text: string, extra?: object);
  readonly code: number;
  /** With codes 9, 10 and 11: the last legal place. */
  readonly x?: number;
  readonly y?: number;
  readonly cmd?: number;
}

export interface Body {
  cmd: number;
  seq: number;
  payload: any;
}
export declare function readBody(bytes: Uint8Array): Body;
export declare function writeBody(cmd: number, seq: number, payload?: unknown): Uint8Array;

export interface MoveRecord {
  id: number;
  x: number;
  y: number;
  dir?: number;
  speed?: number;
}
export declare function readMoves(bytes: Uint8Array): MoveRecord[];
export declare function nearestPlace(wire: number, last: number, quantum: number): number;

export interface Entity {
  id: number;
  /** 0: a player, 1: an NPC. */
  kind: number;
  name: string;
  x: number;
  y: number;
  /** Radians. */
  dir: number;
  /** Units a second. */
  speed: number;
}

export interface EnterResp {
  ok: true;
  id: number;
  scene: string;
  x: number;
  y: number;
  tick_ms: number;
  radius: number;
  quantum: number;
  max_speed: number;
}

export interface LoginResp {
  ok: true;
  id: number;
  name: string;
  resume: string;
  resumed: boolean;
}

export interface Place {
  x: number;
  y: number;
}

export declare class View {
  readonly entities: Map<number, Entity>;
  hidden: number;
  tick: number;
  quantum: number;
  maxSpeed: number;
  place(enter: Pick<EnterResp, "quantum" | "max_speed">): void;
  apply(cmd: number, payload: any): Entity[];
}

export declare class Smooth {
  constructor(delay?: number);
  put(id: number, x: number, y: number, now: number, snap?: number): void;
  get(id: number, now: number): Place | undefined;
  drop(id: number): void;
  clear(): void;
}

export interface Transport {
  onopen: () => void;
  onbody: (body: Uint8Array) => void;
  onclose: () => void;
  send(body: Uint8Array): void;
  close(): void;
}

export declare class WebSocketTransport implements Transport {
  constructor(url: string, socket?: any);
  onopen: () => void;
  onbody: (body: Uint8Array) => void;
  onclose: () => void;
  send(body: Uint8Array): void;
  close(): void;
}

export interface ClientEvents {
  placed: (enter: EnterResp) => void;
  add: (entity: Entity) => void;
  move: (entity: Entity) => void;
  remove: (entity: Entity) => void;
  tick: (tick: number) => void;
  say: (said: { id: number; text: string; name?: string }) => void;
  stopped: (at: Place & { code: number }) => void;
  unavailable: () => void;
  lost: (reason: string) => void;
  back: (how: { resumed: boolean }) => void;
  forgotten: () => void;
  ended: (why: { code: number; reason: string }) => void;
}

export declare class Client {
  constructor(options: {
    connect: () => Transport;
    name: string;
    token?: string | (() => string);
    retry?: boolean;
    keepalive?: number;
    patience?: number;
  });
  readonly view: View;
  readonly self: EnterResp | null;
  readonly name: string;
  readonly state: "idle" | "connecting" | "login" | "ready" | "away" | "over";
  /** Returns what takes the handler away again. */
  on<E extends keyof ClientEvents>(event: E, fn: ClientEvents[E]): () => void;
  login(): Promise<LoginResp>;
  enter(scene?: string): Promise<EnterResp>;
  leave(): Promise<void>;
  move(x: number, y: number, more?: { dir?: number; speed?: number }): Promise<Place & { ok: true }>;
  walk(x: number, y: number, path?: boolean): Promise<Place & { ok: true }>;
  say(text: string): Promise<{ ok: true }>;
  ping(): Promise<number>;
  request(cmd: number, payload: unknown): Promise<any>;
  close(): void;
}
