import { CallSession } from './call-session.ts'
import { checkDocument } from './check-document.ts'
import type { RealDocument } from './real-documents.ts'

// Whoever asked has gone: nobody wants to know any more.
process.on('disconnect', () => process.exit(1))

const session = await CallSession.start()
process.on('message', async (document: RealDocument) => {
  process.send?.(await checkDocument(document, session))
})
process.send?.('ready')
