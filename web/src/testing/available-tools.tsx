import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useId, useMemo, useState } from 'react'
import { Link } from 'wouter'
import type { PageTool } from '../../../src/server/http/views.ts'
import { toolsQuery } from '../api/queries.ts'
import { announce } from '../parts/announce.tsx'
import { FuzzyIndex } from '../parts/fuzzy.ts'
import { ownValue } from '../parts/own-value.ts'
import { BreakableName } from '../parts/section.tsx'
import { excerpt } from '../parts/shortened.ts'
import { Chip, Empty, Failed, Loading } from '../parts/states.tsx'
import { BoxList } from '../parts/virtual-list.tsx'
import { EffectChip } from '../tools/effect-chip.tsx'
import { jsonFault, type ThreadSettings } from './threads.ts'

const ROW_PX = 78
const MOST_DESCRIPTION = 100
/** From here on the list has a search field. */
const MANY = 8

interface AvailableToolsProps {
  readonly settings: ThreadSettings
  readonly onChange: (settings: ThreadSettings) => void
}

/** The tools that models can call: which of them, and whether they run. */
export function AvailableTools({ settings, onChange }: AvailableToolsProps) {
  const { data: tools, error, refetch } = useQuery(toolsQuery)
  const [search, setSearch] = useState('')
  const index = useMemo(() => new FuzzyIndex(tools ?? [], ({ name, description }) => `${name} ${description}`), [tools])
  const asked = useDeferredValue(search)
  const shown = useMemo(() => index.find(asked), [index, asked])
  return (
    <section aria-labelledby="available" className="panel min-w-0">
      <h2 id="available" className="px-3 pt-3 font-semibold">
        Available Tools {tools !== undefined && <span className="font-normal text-muted">({tools.length})</span>}
      </h2>
      <div className="grid gap-2 px-3 pt-2 text-sm">
        <Mode settings={settings} onChange={onChange} />
        <p className="text-muted">
          <span role="status">
            {settings.tools === undefined
              ? 'The model is offered all tools. Check some to offer only these.'
              : `The model is offered ${settings.tools.length} of them.`}
          </span>{' '}
          {settings.tools !== undefined && (
            <button
              type="button"
              className="text-accent underline underline-offset-2"
              onClick={() => onChange(without(settings, 'tools'))}
            >
              Offer all
            </button>
          )}
        </p>
        {tools !== undefined && tools.length >= MANY && (
          <input
            type="search"
            aria-label="Search available tools"
            placeholder="Search"
            className="field"
            value={search}
            onChange={(event) => setSearch(event.target.value)}
          />
        )}
      </div>
      <div className="p-2">
        {tools === undefined && !error && <Loading what="the tools" />}
        {tools === undefined && error && <Failed error={error} what="the tools" again={() => void refetch()} />}
        {tools?.length === 0 && <Empty title="No tools">The model can only answer without tools.</Empty>}
        {tools !== undefined && tools.length > 0 && shown.length === 0 && <Empty title="No tools match" />}
        {shown.length > 0 && (
          <BoxList
            items={shown}
            keyOf={({ name }) => name}
            rowPx={ROW_PX}
            label="List of tools"
            boxClassName="max-h-[26rem] xl:max-h-[calc(100dvh-20rem)]"
            rowClassName="rounded-lg px-1 py-1.5"
            row={(tool) => <Tool tool={tool} settings={settings} onChange={onChange} />}
          />
        )}
      </div>
    </section>
  )
}

const without = ({ ...settings }: ThreadSettings, key: 'tools' | 'mocks'): ThreadSettings => {
  const { [key]: _left, ...rest } = settings
  return rest
}

/** Whether tools run, and whether writes ask first. */
function Mode({ settings, onChange }: AvailableToolsProps) {
  const mocked = settings.mocks !== undefined
  return (
    <>
      <fieldset className="flex gap-4">
        <legend className="sr-only">Results of calls</legend>
        <label className="flex items-center gap-1.5">
          <input
            type="radio"
            name="mode"
            className="size-4 accent-accent"
            checked={!mocked}
            onChange={() => onChange(without(settings, 'mocks'))}
          />
          Run tools
        </label>
        <label className="flex items-center gap-1.5">
          <input
            type="radio"
            name="mode"
            className="size-4 accent-accent"
            checked={mocked}
            onChange={() => onChange({ ...settings, mocks: {} })}
          />
          Mock results
        </label>
      </fieldset>
      {!mocked && (
        <label className="flex items-center gap-1.5">
          <input
            type="checkbox"
            className="size-4 accent-accent"
            checked={settings.asksWrites}
            onChange={(event) => onChange({ ...settings, asksWrites: event.target.checked })}
          />
          Ask before each write
        </label>
      )}
    </>
  )
}

function Tool({ tool, settings, onChange }: AvailableToolsProps & { readonly tool: PageTool }) {
  const { tools = [], mocks } = settings
  const { name } = tool
  const toggle = () => {
    const chosen = tools.includes(name) ? tools.filter((one) => one !== name) : [...tools, name]
    onChange(chosen.length === 0 ? without(settings, 'tools') : { ...settings, tools: chosen })
  }
  return (
    <div className="flex gap-2">
      <input
        type="checkbox"
        aria-label={`Offer ${name}`}
        className="mt-0.5 size-4 shrink-0 accent-accent"
        checked={tools.includes(name)}
        onChange={toggle}
      />
      <div className="min-w-0 flex-1">
        <div className="flex flex-wrap items-center gap-x-2">
          <Link
            href={`/tool/${encodeURIComponent(name)}`}
            className="font-mono text-[0.8125rem] font-medium underline-offset-2 hover:underline"
          >
            <BreakableName name={name} />
          </Link>
          <Chip>{tool.kind}</Chip>
          {tool.effect === 'write' && <EffectChip tool={tool} />}
        </div>
        <p className="text-[0.8125rem] leading-5 wrap-anywhere text-muted">
          {excerpt(tool.description, MOST_DESCRIPTION)}
        </p>
        {mocks !== undefined && (
          <MockResult
            tool={name}
            text={ownValue(mocks, name) ?? ''}
            onText={(text) => onChange({ ...settings, mocks: { ...mocks, [name]: text } })}
          />
        )}
      </div>
    </div>
  )
}

interface MockResultProps {
  readonly tool: string
  readonly text: string
  readonly onText: (text: string) => void
}

/** The result that calls of a tool get. It is checked when the field is left. */
function MockResult({ tool, text, onText }: MockResultProps) {
  const help = useId()
  const [left, setLeft] = useState(text !== '')
  const fault = left ? jsonFault(text) : undefined
  const leave = () => {
    setLeft(true)
    if (jsonFault(text) !== undefined) announce(`The mock result of ${tool} is not JSON.`)
  }
  return (
    <>
      <input
        aria-label={`Mock result of ${tool}, as JSON`}
        aria-invalid={fault !== undefined}
        aria-describedby={fault === undefined ? undefined : help}
        placeholder='{"ok": true}'
        spellCheck={false}
        className="field mt-1 font-mono text-xs"
        value={text}
        onChange={(event) => onText(event.target.value)}
        onBlur={leave}
      />
      {fault !== undefined && (
        <p id={help} className="mt-1 text-xs wrap-anywhere text-bad">
          Not JSON: {fault}
        </p>
      )}
    </>
  )
}
