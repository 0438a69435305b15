import { Empty } from '../../parts/states.tsx'

export const AuditLog = () => <Empty title="Nothing here yet">It is being built.</Empty>
