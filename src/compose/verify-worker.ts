/** @module Entry of a thread that looks at the rows of a store for a verification: a connection of its own to the file, read-only. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { reasonOf } from '../settings/reason-of.ts'
import { createRunKeys } from '../signing/key-ring.ts'
import { openRowScan } from '../store/sqlite/row-scan.ts'
import { SoundChecks } from '../verify/sound-checks.ts'
import { lookAtRows } from '../verify/threads/look-at-rows.ts'
import type { FromLooker, ToLooker, VerifyWorkerData } from '../verify/threads/protocol.ts'

function serve(port: MessagePort, { path, ring, depth }: VerifyWorkerData): void {
  const scan = openRowScan({ path })
  const checks = new SoundChecks({ ring, runKeys: createRunKeys(ring), depth })
  const answer = (message: FromLooker): void => port.postMessage(message, columnsOf(message))
  port.on('message', (message: ToLooker) => {
    switch (message.kind) {
      case 'look':
        return answer({ kind: 'looked', id: message.id, answer: lookAtRows(scan, checks, message) })
      case 'check-tables':
        return answer({ kind: 'tables-checked', id: message.id, answer: scan.tableFaults(depth === 'full') })
      case 'end':
        scan[Symbol.dispose]()
        port.close()
    }
  })
}

/** Handed over without a copy. */
function columnsOf(message: FromLooker): readonly ArrayBuffer[] {
  if (message.kind !== 'looked' || message.answer === undefined) return []
  const { places, digests, ids } = message.answer
  return [places.buffer, digests.buffer, ids.buffer]
}

const port = parentPort
if (port === null) throw new Error('rows are looked at in a worker thread')
try {
  serve(port, workerData as VerifyWorkerData)
} catch (error) {
  port.postMessage({ kind: 'open-failed', message: reasonOf(error) } satisfies FromLooker)
  port.close()
}
