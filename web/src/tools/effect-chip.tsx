import type { PageTool } from '../../../src/server/http/views.ts'
import { Chip } from '../parts/states.tsx'

/** Whether a call changes something out there: a mock changes nothing, whatever it stands for. */
export const writesLive = ({ effect, kind }: Pick<PageTool, 'effect' | 'kind'>): boolean =>
  effect === 'write' && kind !== 'mock'

/** What a call does to the world; red where it may change something. */
export const EffectChip = ({ tool }: { readonly tool: Pick<PageTool, 'effect' | 'kind'> }) =>
  writesLive(tool) ? <Chip tone="bad">live write</Chip> : <Chip>{tool.effect}</Chip>
