import { useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { sessionQuery, useMay } from '../api/queries.ts'
import { Code, JumpLinks, Section } from '../parts/section.tsx'
import { Empty } from '../parts/states.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { JobCards } from '../setup/job-cards.tsx'
import { Connections } from './connections.tsx'
import { FileModels } from './file-models.tsx'
import { focusKey, Keys } from './keys.tsx'
import { NewKey } from './new-key.tsx'
import { Packages } from './packages.tsx'
import { Payloads } from './payloads.tsx'
import { Roles } from './roles.tsx'
import { Secrets } from './secrets.tsx'
import type { MadeKey } from './setting-queries.ts'
import { Tenants } from './tenants.tsx'
import { Users } from './users.tsx'
import { You } from './you.tsx'

/** Keys, users, tenants with their flags, what can be added, packages and roles. */
export function SettingsPage() {
  usePageTitle('Settings')
  const mayManage = useMay('manage')
  const mayCall = useMay('call')
  const mayRead = useMay('read')
  const mayInstall = useMay('installation')
  const { data: session } = useQuery(sessionQuery)
  // State lives here, because the first key changes the session and remounts the parts below.
  const [made, setMade] = useState<MadeKey>()
  const page = useRef<HTMLDivElement>(null)
  const done = () => {
    if (made !== undefined) focusKey(made.id)
    setMade(undefined)
  }
  return (
    <div ref={page} className="grid grid-cols-1 gap-8">
      <h1 className="text-2xl font-semibold tracking-tight">Settings</h1>
      <JumpLinks page={page} />
      <You />
      {mayCall && <Connections />}
      {made !== undefined && <NewKey made={made} onDone={done} />}
      {mayManage ? (
        <>
          <Keys onMade={setMade} />
          {session?.sign_in === true && <Users />}
          <Tenants />
        </>
      ) : (
        <Section title="Keys, tenants and flags">
          <Empty title="Your key can’t manage keys and tenants">
            It lacks the scope <Code>manage</Code>, which admins have. Ask an admin of your tenant for such a key, or
            create one on the server: <Code>npx toolyard keys create --role admin</Code>
          </Empty>
        </Section>
      )}
      <Section
        title="MCP servers, tools, models and knowledge"
        about={
          mayInstall ? (
            'Each form shows the change to the configuration before the server writes it.'
          ) : (
            <>
              To add some, you need a key with the scope <Code>installation</Code>.
            </>
          )
        }
      >
        {mayInstall && <JobCards />}
      </Section>
      {mayInstall && (
        <>
          <FileModels />
          <Payloads />
          <Secrets />
          <Packages />
        </>
      )}
      {mayRead && <Roles />}
    </div>
  )
}
