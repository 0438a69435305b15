import { hostSearch } from './host-search.ts'
import { serveStorage } from './serve-storage.ts'

await serveStorage(hostSearch)
