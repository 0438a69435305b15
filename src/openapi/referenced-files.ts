import { referencedFile } from './documents.ts'

/** The files beside the document that one of its files refers to, by their path from the folder of the document. */
export function referencedFiles(document: unknown, from: string): Set<string> {
  const found = new Set<string>()
  const seen = new Set<object>()
  const open: unknown[] = [document]
  while (open.length > 0) {
    const value = open.pop()
    if (typeof value !== 'object' || value === null || seen.has(value)) continue
    seen.add(value)
    for (const [key, inner] of Object.entries(value)) {
      if (typeof inner === 'object') open.push(inner)
      else if (key === '$ref' && typeof inner === 'string' && !inner.startsWith('#')) {
        const file = referencedFile(inner.split('#', 1)[0] ?? '', from)
        if (file !== undefined && file !== from) found.add(file)
      }
    }
  }
  return found
}
