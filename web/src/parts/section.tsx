import { Fragment, type ReactNode } from 'react'

interface SectionProps {
  readonly title: string
  /** What it is about, in a sentence. */
  readonly about?: ReactNode
  readonly children: ReactNode
}

/** A part of a page under a heading of its own. */
export const Section = ({ title, about, children }: SectionProps) => (
  <section aria-label={title} className="grid grid-cols-1 gap-3">
    <div>
      <h2 className="text-lg font-semibold">{title}</h2>
      {about !== undefined && <p className="mt-0.5 max-w-prose text-sm text-muted">{about}</p>}
    </div>
    {children}
  </section>
)

/** Text that is typed somewhere: a path, a command, a name. */
export const Code = ({ children }: { readonly children: ReactNode }) => (
  <code className="font-mono text-[0.9em] break-words">{children}</code>
)

/** A name that may break after an underscore, and elsewhere only if a part is too long for the line. */
export const BreakableName = ({ name }: { readonly name: string }) => (
  <span className="wrap-anywhere">
    {name.split(/(?<=_)/).map((part, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts may repeat, and never move.
      <Fragment key={index}>
        {index > 0 && <wbr />}
        {part}
      </Fragment>
    ))}
  </span>
)
