import { Empty } from '../../parts/states.tsx'

export const Connections = () => <Empty title="Nothing here yet">It is being built.</Empty>
