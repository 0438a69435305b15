import { Empty } from '../parts/states.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'

export function SettingsPage() {
  usePageTitle('Settings')
  return <Empty title="Nothing here yet">It is being built.</Empty>
}
