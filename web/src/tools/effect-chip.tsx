import type { PageTool } from '../../../src/server/http/views.ts'
import { Chip } from '../parts/states.tsx'

/** Whether a call changes data. Mocks never do. */
export const writesLive = ({ effect, kind }: Pick<PageTool, 'effect' | 'kind'>): boolean =>
  effect === 'write' && kind !== 'mock'

/** The effect of a tool; red for writes. */
export const EffectChip = ({ tool }: { readonly tool: Pick<PageTool, 'effect' | 'kind'> }) =>
  writesLive(tool) ? <Chip tone="bad">live write</Chip> : <Chip>{tool.effect}</Chip>
