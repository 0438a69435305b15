import { hash } from 'node:crypto'
import { canonicalText } from '../../core/schema/canonical-text.ts'
import type { ServerTool } from './listed-tool.ts'

/**
 * What a tool is known by: it changes with its name, its description and its schema, and with nothing else. The schema has
 * a half of its own, so that it can be said what has changed.
 */
export function fingerprint({ name, description, inputSchema }: ServerTool): string {
  return `${hash('sha256', canonicalText({ name, description }))}.${hash('sha256', canonicalText(inputSchema))}`
}
