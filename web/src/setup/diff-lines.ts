export interface DiffLine {
  readonly kind: 'added' | 'removed' | 'same' | 'gap'
  readonly text: string
}

/** The lines of a unified diff, without its headers. */
export function diffLines(diff: string): DiffLine[] {
  const lines: DiffLine[] = []
  let inside = false
  for (const line of diff.replace(/\n$/, '').split('\n')) {
    if (line.startsWith('@@')) {
      if (inside) lines.push({ kind: 'gap', text: '…' })
      inside = true
    } else if (inside && !line.startsWith('\\')) lines.push({ kind: kindOf(line), text: line.slice(1) })
  }
  return lines
}

const kindOf = (line: string): DiffLine['kind'] =>
  line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'same'
