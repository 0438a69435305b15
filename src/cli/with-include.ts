import { isDeepStrictEqual } from 'node:util'
import { isMap, isSeq, parseDocument } from 'yaml'

/** A configuration as text. */
interface ConfigText {
  readonly tools?: { readonly registry?: readonly unknown[] }
}

/**
 * The text of a configuration file with one more entry in `tools.registry`, which includes a file. The rest stays as it
 * was written, blanks and all, wherever that can be done.
 */
export function withInclude(text: string, include: string): string {
  const config = JSON.parse(text.replace(/^\uFEFF/, '')) as ConfigText
  const wanted = { ...config, tools: { ...config.tools, registry: [...(config.tools?.registry ?? []), { include }] } }
  const edited = inserted(text, `{ "include": ${JSON.stringify(include)} }`)
  if (edited !== undefined && isDeepStrictEqual(asJson(edited), wanted)) return edited
  return `${JSON.stringify(wanted, undefined, 2)}\n`
}

/** The entry behind the last one of `tools.registry`, where there is one. JSON is YAML, and its parser knows the places. */
function inserted(text: string, entry: string): string | undefined {
  const root = parseDocument(text, { logLevel: 'silent' }).contents
  const registry = isMap(root) ? root.getIn(['tools', 'registry'], true) : undefined
  const last = isSeq(registry) ? registry.items.at(-1) : undefined
  const range = (last as { readonly range?: readonly [number, number, number] } | undefined)?.range
  if (range === undefined) return undefined
  const [start, end] = range
  const before = /(?:\r?\n|(?<![ \t]))[ \t]*$/.exec(text.slice(0, start))?.[0] ?? ''
  return `${text.slice(0, end)},${before.includes('\n') ? before : ' '}${entry}${text.slice(end)}`
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch {
    return undefined
  }
}
