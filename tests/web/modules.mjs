/* tests/web/modules.mjs: lets Node import the page's modules and proto/js as the page does, without npm:
 * `@msgpack/msgpack` is gateway/web/msgpack.js. Import it before anything else.
 */
import { register } from "node:module";

const codec = new URL("../../gateway/web/msgpack.js", import.meta.url).href;
const web = new URL("../../gateway/web/", import.meta.url).href;
const aegis = new URL("../../proto/js/aegis.js", import.meta.url).href;

register(`data:text/javascript,${encodeURIComponent(`
export function resolve(name, context, next) {
  if (name === "@msgpack/msgpack") return { url: ${JSON.stringify(codec)}, format: "module", shortCircuit: true };
  if (name === "./aegis.js" && context.parentURL?.startsWith(${JSON.stringify(web)}))
    return { url: ${JSON.stringify(aegis)}, format: "module", shortCircuit: true };
  if (name.startsWith(".") && new URL(name, context.parentURL).href.startsWith(${JSON.stringify(web)}))
    return { url: new URL(name, context.parentURL).href, format: "module", shortCircuit: true };
  return next(name, context);
}`)}`);
