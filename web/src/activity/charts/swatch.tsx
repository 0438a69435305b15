import { useId } from 'react'
import type { Drawn } from './drawn.ts'

interface HatchingProps {
  readonly id: string
  readonly colour: string
}

/** A hatch pattern, for series that must differ without colours. */
export const Hatching = ({ id, colour }: HatchingProps) => (
  <defs>
    <pattern id={id} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <rect width="6" height="6" fill="var(--panel)" />
      <rect width="3" height="6" fill={colour} />
    </pattern>
  </defs>
)

/** The fill of a bar; `hatching` is the id of the pattern. */
export function barFill({ colour, fill }: Pick<Drawn, 'colour' | 'fill'>, hatching: string): string {
  if (fill === 'outlined') return 'var(--panel)'
  return fill === 'hatched' ? `url(#${hatching})` : colour
}

/** The legend symbol of a series. */
export function Swatch({ colour, as, fill, dash }: Pick<Drawn, 'colour' | 'as' | 'fill' | 'dash'>) {
  const id = useId()
  return (
    <svg width="22" height="12" aria-hidden="true">
      {as === 'line' && <line x1="0" y1="6" x2="22" y2="6" stroke={colour} strokeWidth="2" strokeDasharray={dash} />}
      {as === 'bar' && (
        <>
          {fill === 'hatched' && <Hatching id={id} colour={colour} />}
          <rect x="5.5" y="0.5" width="11" height="11" fill={barFill({ colour, fill }, id)} stroke={colour} />
        </>
      )}
    </svg>
  )
}
