import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { count } from '../parts/figures.ts'
import { Code, Section } from '../parts/section.tsx'
import { Failed, Loading, Note } from '../parts/states.tsx'
import { packagesQuery } from './setting-queries.ts'

/** Packages of tools and the catalogue. They are added on the command line. */
export function Packages() {
  const { data, error, refetch } = useQuery(packagesQuery)
  const added = new Set(data?.packages.map(({ name }) => name))
  return (
    <Section
      title="Packages"
      about={
        <>
          Tools that others have signed. Add a package on the server: <Code>npx toolyard add SOURCE</Code>
        </>
      }
    >
      {data === undefined && error && <Failed error={error} what="the packages" again={() => void refetch()} />}
      {data === undefined && !error && <Loading what="the packages" />}
      {data?.problem !== undefined && <Note tone="warn">{data.problem}</Note>}
      {data?.packages.length === 0 && <p className="text-sm text-muted">No packages yet.</p>}
      {data !== undefined && data.packages.length > 0 && (
        <ul aria-label="Packages" className="panel divide-y divide-line text-sm">
          {data.packages.map(({ name, version, source, fingerprint, tools, granted, problem }) => (
            <Entry key={name} name={name} version={version} source={source}>
              <p className="text-muted">
                {count(tools.length, 'tool')}, signed by <Code>{fingerprint}</Code>
                {granted.length > 0 && `, may read ${granted.join(', ')}`}
              </p>
              {problem !== undefined && <Note tone="bad">{problem}</Note>}
            </Entry>
          ))}
        </ul>
      )}
      {data !== undefined && data.catalogue.length > 0 && (
        <>
          <h3 className="text-sm font-semibold">Catalogue</h3>
          <ul aria-label="Catalogue" className="panel divide-y divide-line text-sm">
            {data.catalogue.map(({ name, version, source, description }) => (
              <Entry key={`${name} ${source}`} name={name} version={version} source={source}>
                <p className="text-muted">
                  {description}
                  {added.has(name) && ' (added)'}
                </p>
              </Entry>
            ))}
          </ul>
        </>
      )}
    </Section>
  )
}

interface EntryProps {
  readonly name: string
  readonly version: string
  readonly source: string
  readonly children: ReactNode
}

const Entry = ({ name, version, source, children }: EntryProps) => (
  <li className="grid grid-cols-1 gap-1 p-4">
    <p className="break-words">
      <span className="font-medium">{name}</span> {version} <span className="text-muted">from</span>{' '}
      <Code>{source}</Code>
    </p>
    {children}
  </li>
)
