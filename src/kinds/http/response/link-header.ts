/** One link: what stands between `<` and `>`, and its parameters, whose values may be quoted. */
const LINK = /<([^<>]*)>((?:\s*;\s*[^\s;,="<>]+(?:\s*=(?:\s*(?:"(?:[^"\\]|\\.)*"|[^\s;,"]+))?)?)*)/g
const PARAMETER = /;\s*([^\s;,="<>]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?/g

/** The target of the link to the next page in a `Link` header (RFC 8288), as it is written there. */
export function nextLink(header: string | undefined): string | undefined {
  for (const [, target, parameters = ''] of header?.matchAll(LINK) ?? []) {
    if (isNext(parameters)) return target
  }
  return undefined
}

function isNext(parameters: string): boolean {
  let relation: string | undefined
  for (const [, name = '', quoted, plain] of parameters.matchAll(PARAMETER)) {
    // A link about something else than this page.
    if (name.toLowerCase() === 'anchor') return false
    // The first counts.
    if (name.toLowerCase() === 'rel') relation ??= quoted ?? plain ?? ''
  }
  return relation?.toLowerCase().split(/\s+/).includes('next') ?? false
}
