import { Chip } from '../parts/states.tsx'

/** Why a run ended. */
export function StopChip({ reason }: { readonly reason: string }) {
  if (reason === 'stop') return <Chip tone="good">finished</Chip>
  return <Chip tone={reason === 'error' ? 'bad' : 'warn'}>{reason.replaceAll('_', ' ')}</Chip>
}
