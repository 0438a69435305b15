/** Key figures side by side. */
export const Tiles = ({
  label,
  tiles,
}: {
  readonly label: string
  readonly tiles: Readonly<Record<string, string>>
}) => (
  <dl aria-label={label} className="grid grid-cols-2 gap-2 sm:grid-cols-3 lg:grid-cols-6">
    {Object.entries(tiles).map(([name, value]) => (
      <div key={name} className="panel px-3 py-2">
        <dt className="text-xs text-muted">{name}</dt>
        <dd className="text-lg font-semibold tabular-nums">{value}</dd>
      </div>
    ))}
  </dl>
)
