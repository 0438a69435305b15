import type { ComponentProps } from 'react'

type Look = 'plain' | 'main' | 'danger' | 'quiet'

const LOOKS: Readonly<Record<Look, string>> = {
  plain: 'border-edge bg-panel text-ink hover:bg-sunk',
  main: 'border-accent bg-accent text-on-accent hover:brightness-110',
  quiet: 'border-transparent text-muted hover:bg-sunk hover:text-ink',
  danger: 'border-bad bg-bad-ground text-bad hover:brightness-95 dark:hover:brightness-125',
}

interface ButtonProps extends ComponentProps<'button'> {
  readonly look?: Look
}

/** A button. */
export const Button = ({ look = 'plain', className = '', ...rest }: ButtonProps) => (
  <button
    type="button"
    className={`inline-flex min-h-9 items-center justify-center gap-1.5 rounded-lg border px-3 py-1 text-sm font-medium disabled:opacity-60 ${LOOKS[look]} ${className}`}
    {...rest}
  />
)
