import { useId, useState } from 'react'
import { useLocation } from 'wouter'
import { toast } from '../parts/toast.tsx'
import { ChangePanel } from './change-panel.tsx'
import { TextField } from './field.tsx'
import { JobFrame, type JobProps } from './job-frame.tsx'
import { KeyField } from './key-field.tsx'
import { sourceProblem } from './key-source.ts'
import { ModelTest, useModelTest } from './model-test.tsx'
import {
  draftFor,
  PROVIDERS,
  type ProviderDraft,
  providerChange,
  providerName,
  providerProblems,
  renamed,
  testedDraft,
} from './provider-draft.ts'
import { useChange } from './use-change.ts'
import { writtenToast } from './written-toast.ts'

/** Adds a provider and a model. */
export function ModelJob({ setup }: JobProps) {
  const ids = useId()
  const [, goTo] = useLocation()
  const { secrets } = setup
  const [draft, setDraft] = useState(() => draftFor('openai', secrets))
  const [secret, setSecret] = useState('')
  const set = (change: Partial<ProviderDraft>) => setDraft((before) => ({ ...before, ...change }))
  const problems = providerProblems(draft)
  const lacksSecret = draft.key.from === 'secret' && secret === ''
  const offered = PROVIDERS.find(({ id }) => id === draft.offered)
  const usual = offered?.variable ?? ''
  const keyProblem = sourceProblem(draft.key, setup, usual)
  const ready = problems.size === 0 && keyProblem === undefined
  const test = useModelTest(testedDraft(draft, secret))
  const change = useChange(ready ? providerChange(draft) : undefined, (view) => {
    setSecret('')
    const name = draft.title.trim() || draft.model.trim()
    const id = `${providerName(draft)}:${draft.model.trim()}`
    const href = `/tools-testing?${new URLSearchParams({ model: id })}`
    toast(writtenToast(`Added the model ${name}.`, view, { label: `Test ${name}`, href }))
    goTo('/models')
  })
  return (
    <JobFrame
      form={
        <>
          <fieldset>
            <legend className="text-sm font-medium">Provider</legend>
            <div className="mt-1 grid grid-cols-2 gap-2 sm:grid-cols-6">
              {PROVIDERS.map(({ id, title, about }) => (
                <label
                  key={id}
                  className="grid content-start rounded-lg border border-line px-3 py-2 text-sm max-sm:last:col-span-2 sm:col-span-2 sm:nth-[n+4]:col-span-3 hover:border-edge has-[:checked]:border-accent has-[:checked]:bg-accent-ground has-[:focus-visible]:outline-2 has-[:focus-visible]:outline-offset-2 has-[:focus-visible]:outline-accent"
                >
                  <input
                    type="radio"
                    name={`${ids}provider`}
                    className="sr-only"
                    checked={draft.offered === id}
                    onChange={() => {
                      setSecret('')
                      setDraft((before) => draftFor(id, secrets, before))
                    }}
                  />
                  <span className="font-medium">{title}</span>
                  <span className="text-muted">{about}</span>
                </label>
              ))}
            </div>
          </fieldset>
          {draft.offered === 'compatible' && (
            <TextField
              label="Name of the provider"
              mono
              placeholder="office"
              value={draft.name}
              problem={problems.get('name')}
              onChange={(name) => setDraft((before) => renamed(before, name, secrets))}
            />
          )}
          {(draft.offered === 'compatible' || offered?.baseUrl !== undefined) && (
            <TextField
              label="Address"
              mono
              placeholder="https://models.example.com/v1"
              value={draft.baseUrl}
              problem={problems.get('baseUrl')}
              onChange={(baseUrl) => set({ baseUrl })}
            />
          )}
          {draft.offered !== 'ollama' && (
            <KeyField
              key={draft.offered}
              legend="API key"
              usual={usual}
              setup={setup}
              source={draft.key}
              onSource={(key) => set({ key })}
              value={secret}
              onValue={setSecret}
              without={draft.offered === 'compatible' ? 'No key' : 'Keep what the server has for this provider'}
            />
          )}
          <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
            <TextField
              label="Model"
              mono
              placeholder={offered?.example ?? ''}
              hint="The id that the provider uses."
              value={draft.model}
              problem={problems.get('model')}
              onChange={(model) => set({ model })}
            />
            <TextField
              label="Display name"
              placeholder="optional"
              value={draft.title}
              onChange={(title) => set({ title })}
            />
          </div>
          <ModelTest test={test} ready={ready && !lacksSecret} />
        </>
      }
      change={
        <ChangePanel
          setup={setup}
          change={change}
          missing={[...problems.values(), keyProblem].find((text) => text !== undefined) ?? ''}
          blocked={lacksSecret ? 'Enter the API key.' : undefined}
          caution={test.error === undefined ? undefined : 'The test failed. You can still add the model.'}
          onWrite={() => change.write(providerChange(draft, secret))}
        />
      }
    />
  )
}
