import { createHash } from 'node:crypto'
import { canonicalText } from '../../core/schema/canonical-text.ts'
import type { OfferedTool } from '../../models/model.ts'

const known = new WeakMap<OfferedTool, string>()

/**
 * Names what a model is shown of a tool: its description and its parameters. How the tool is run does not enter into
 * it, so that a mock in a suite and the real tool are the same to a model. A better description is another tool to it,
 * and deserves a new count.
 */
export function schemaHash(tool: OfferedTool): string {
  let hash = known.get(tool)
  if (hash === undefined) {
    const shown = canonicalText([tool.description, tool.parameters])
    hash = createHash('sha256').update(shown).digest('hex').slice(0, 16)
    known.set(tool, hash)
  }
  return hash
}
