import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import type { TestedServer } from '../../../src/app/setup/test-servers.ts'
import { requestJson } from '../api/request.ts'
import { Button } from '../parts/button.tsx'
import { count } from '../parts/figures.ts'
import { ownValue } from '../parts/own-value.ts'
import { excerpt } from '../parts/shortened.ts'
import { Chip, Note } from '../parts/states.tsx'
import { toast } from '../parts/toast.tsx'
import { ChangePanel } from './change-panel.tsx'
import { TextArea, TextField } from './field.tsx'
import { followTools } from './follow-tools.ts'
import { JobFrame, type JobProps } from './job-frame.tsx'
import { nameProblem, readServers, renamed, type ServerEntries, summaryOf } from './mcp-input.ts'
import { sentence } from './sentence.ts'
import { useChange } from './use-change.ts'
import { writtenToast } from './written-toast.ts'

const PLACEHOLDER = `{
  "mcpServers": {
    "github": {
      "url": "https://api.githubcopilot.com/mcp/",
      "headers": { "Authorization": "Bearer \${GITHUB_TOKEN}" }
    }
  }
}`
const MOST_DESCRIPTION = 160

/** Adds MCP servers: paste, test, see their tools, write. */
export function McpJob({ setup }: JobProps) {
  const client = useQueryClient()
  const [, goTo] = useLocation()
  const [text, setText] = useState('')
  const [names, setNames] = useState<Readonly<Record<string, string>>>({})
  const read = readServers(text)
  const pasted: ServerEntries = read !== undefined && 'servers' in read ? read.servers : {}
  const problem = read !== undefined && 'problem' in read ? read.problem : undefined
  const given = Object.keys(pasted)
  const current = given.map((name) => ownValue(names, name) ?? name)
  const named = current.every((name) => nameProblem(name, current) === undefined)
  const ready = given.length > 0 && named
  const servers = renamed(pasted, names)
  const test = useMutation({
    mutationFn: (asked: ServerEntries) =>
      requestJson<{ servers: TestedServer[] }>('/api/setup/mcp-servers/test', {
        method: 'POST',
        body: { servers: asked },
      }),
    gcTime: 0,
  })
  const isTested = test.variables !== undefined && JSON.stringify(test.variables) === JSON.stringify(servers)
  const results = isTested ? test.data?.servers : undefined
  const whole = { kind: 'mcp_servers', servers } as const
  const change = useChange(ready ? whole : undefined, (view) => {
    const [first = ''] = current
    toast(
      writtenToast(
        current.length === 1 ? `Added the MCP server ${first}.` : `Added ${count(current.length, 'MCP server')}.`,
        view,
        {
          label: `Open ${first}`,
          href: `/activity/connections/${encodeURIComponent(first)}`,
        },
      ),
    )
    followTools(client, current)
    goTo('/activity/connections')
  })
  const starts = Object.values(pasted).some(({ command }) => command !== undefined)
  const startTest = () => {
    if (ready && !test.isPending) test.mutate(servers)
  }
  return (
    <JobFrame
      form={
        <>
          <TextArea
            label="Configuration, URL or command"
            hint="Paste mcpServers from another client, the URL of a server, or the command that starts one."
            placeholder={PLACEHOLDER}
            rows={9}
            value={text}
            onChange={(value) => {
              setText(value)
              setNames({})
            }}
            onSubmit={startTest}
          />
          {problem !== undefined && (
            <Note tone="bad" role="alert">
              {problem}
            </Note>
          )}
          {starts && !setup.commands.allowed && (
            <Note tone="warn" role="status">
              {sentence(setup.commands.reason ?? 'This server starts no commands that were entered on the page')}
            </Note>
          )}
          {given.length > 0 && (
            <ul aria-label="Servers" className="grid grid-cols-1 gap-3">
              {given.map((name, index) => (
                <li key={name} className="grid grid-cols-1 gap-2 rounded-lg border border-line p-3">
                  <TextField
                    label="Name"
                    mono
                    maxLength={64}
                    value={ownValue(names, name) ?? name}
                    problem={nameProblem(ownValue(names, name) ?? name, current)}
                    onChange={(value) => setNames((before) => ({ ...before, [name]: value }))}
                  />
                  <p className="font-mono text-xs wrap-anywhere text-muted">
                    {summaryOf(ownValue(pasted, name) ?? {})}
                  </p>
                  <Result result={results?.find((one) => one.name === current[index])} />
                </li>
              ))}
            </ul>
          )}
          {test.error && isTested && (
            <Note tone="bad" role="alert">
              {test.error.message}
            </Note>
          )}
          <div>
            <Button disabled={!ready || test.isPending} onClick={startTest}>
              {test.isPending ? 'Connecting …' : 'Test'}
            </Button>
          </div>
        </>
      }
      change={
        <ChangePanel
          setup={setup}
          change={change}
          missing={given.length === 0 ? 'Paste a server to see the change.' : 'Each server needs a name of its own.'}
          onWrite={() => change.write(whole)}
        />
      }
    />
  )
}

function Result({ result }: { readonly result: TestedServer | undefined }) {
  if (result === undefined) return null
  if (!result.ok) {
    return (
      <Note tone="bad" role="alert">
        {result.error ?? 'The server did not answer.'}
      </Note>
    )
  }
  const { tools, more = 0 } = result
  return (
    <div role="status" className="grid gap-2">
      <p className="flex flex-wrap items-center gap-2 text-sm">
        <Chip tone="good">connected</Chip> {count(tools.length + more, 'tool')}
      </p>
      <ul aria-label={`Tools of ${result.name}`} className="grid max-h-64 gap-1.5 overflow-y-auto text-sm" tabIndex={0}>
        {tools.map(({ name, description }) => (
          <li key={name}>
            <span className="font-mono text-[0.8125rem] font-medium wrap-anywhere">{name}</span>{' '}
            <span className="wrap-anywhere text-muted">{excerpt(description, MOST_DESCRIPTION)}</span>
          </li>
        ))}
        {more > 0 && <li className="text-muted">and {count(more, 'more tool')}</li>}
      </ul>
    </div>
  )
}
