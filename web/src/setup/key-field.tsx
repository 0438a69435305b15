import { useId } from 'react'
import { TextField } from './field.tsx'
import { type KeySource, sourceProblem, variablesFor } from './key-source.ts'
import type { SetupState } from './setup-queries.ts'

interface KeyFieldProps {
  readonly legend: string
  readonly setup: SetupState
  readonly source: KeySource
  readonly onSource: (source: KeySource) => void
  /** The key as typed. */
  readonly value: string
  readonly onValue: (value: string) => void
  /** The variable that always may be named; empty if there is none. */
  readonly usual: string
  /** The label of a choice without a key, if it may work without one. */
  readonly without?: string
}

/** Where a key comes from: the server's secret store, or an environment variable. */
export function KeyField({ legend, setup, source, onSource, value, onValue, usual, without }: KeyFieldProps) {
  const ids = useId()
  const { secrets, variables } = setup
  const choices = [
    { from: 'secret' as const, label: 'Store it on the server, encrypted', disabled: !secrets.enabled },
    { from: 'variable' as const, label: 'Read it from an environment variable', disabled: false },
    ...(without === undefined ? [] : [{ from: 'none' as const, label: without, disabled: false }]),
  ]
  const problem = sourceProblem(source, setup, usual)
  return (
    <fieldset className="grid min-w-0 grid-cols-1 gap-3">
      <legend className="text-sm font-medium">{legend}</legend>
      <div className="mt-1 grid gap-1.5 text-sm">
        {choices.map(({ from, label, disabled }) => (
          <div key={from}>
            <label className="flex min-h-6 items-center gap-2">
              <input
                type="radio"
                name={`${ids}from`}
                className="size-4 shrink-0 accent-accent"
                checked={source.from === from}
                disabled={disabled}
                aria-describedby={disabled ? `${ids}reason` : undefined}
                onChange={() => onSource({ ...source, from })}
              />
              <span className={disabled ? 'text-muted' : ''}>{label}</span>
            </label>
            {disabled && (
              <p id={`${ids}reason`} className="pl-6 wrap-anywhere text-muted">
                {secrets.reason ?? 'This server stores no secrets.'}
              </p>
            )}
          </div>
        ))}
      </div>
      {source.from === 'secret' && (
        <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
          <TextField
            label="Name of the secret"
            mono
            maxLength={64}
            value={source.secret}
            problem={problem}
            onChange={(secret) => onSource({ ...source, secret })}
          />
          <TextField
            label="Key"
            secret
            value={value}
            problem={value === '' ? 'Enter the key.' : undefined}
            hint="It is not shown again."
            onChange={onValue}
          />
        </div>
      )}
      {source.from === 'variable' && (
        <TextField
          label="Name of the variable"
          mono
          value={source.variable}
          problem={problem}
          hint={
            variables.any
              ? 'Set it where the server starts.'
              : `The server allows ${variablesFor(setup, usual).join(', ') || 'no variables'}.`
          }
          onChange={(variable) => onSource({ ...source, variable })}
        />
      )}
    </fieldset>
  )
}
