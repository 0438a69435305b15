/** The two parts of `provider:model`; the model's own name may have colons too (`ollama:llama3.2:3b`). */
export function splitModelId(id: string): { readonly provider: string; readonly model: string } | undefined {
  const colon = id.indexOf(':')
  if (colon < 1 || colon === id.length - 1) return undefined
  return { provider: id.slice(0, colon), model: id.slice(colon + 1) }
}
