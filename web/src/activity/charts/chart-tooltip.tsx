interface Shown {
  readonly name?: unknown
  readonly value?: unknown
}

interface ChartTooltipProps {
  readonly active?: boolean
  readonly title: string
  readonly payload?: readonly Shown[]
  readonly format: (value: number) => string
  readonly missing?: string | undefined
}

/** The values at the pointer or keyboard position. */
export const ChartTooltip = ({ active = false, title, payload = [], format, missing }: ChartTooltipProps) => (
  <div role="status" className={active ? 'panel px-3 py-2 text-sm shadow-lg' : undefined}>
    {active && (
      <>
        <p className="font-medium">{title}</p>
        {payload.map(({ name, value }) => (
          <p key={String(name)} className="tabular-nums">
            {String(name)}: {typeof value === 'number' ? format(value) : (missing ?? 'none')}
          </p>
        ))}
      </>
    )}
  </div>
)
