import { Note } from './states.tsx'

/** The warnings in the envelope of a call, such as changed parameters or a deprecated version. */
export function Warnings({ result }: { readonly result: unknown }) {
  const { warnings } = Object(result) as { warnings?: unknown }
  if (!Array.isArray(warnings) || warnings.length === 0) return null
  return (
    <div className="mt-2 grid gap-2">
      {warnings.map((warning) => (
        <Note key={String(warning)} tone="warn">
          {String(warning)}.
        </Note>
      ))}
    </div>
  )
}
