/** @module Entry point of a thread that checks the rows of a store during verification: it has a read-only connection to the file. */
import { createRunKeys } from '../signing/key-ring.ts'
import { openRowScan } from '../store/sqlite/row-scan.ts'
import { SoundChecks } from '../verify/sound-checks.ts'
import { lookAtRows } from '../verify/threads/look-at-rows.ts'
import type { LookedRows, LookerCalls, VerifyWorkerData } from '../verify/threads/protocol.ts'
import { type NoCalls, Transfer } from '../workers/peer.ts'
import { type Served, serveThread } from '../workers/serve-thread.ts'

function begin({ path, ring, depth }: VerifyWorkerData): Served<LookerCalls> {
  const scan = openRowScan({ path })
  const checks = new SoundChecks({ ring, runKeys: createRunKeys(ring), depth })
  return {
    handlers: {
      look: (range) => inColumns(lookAtRows(scan, checks, range)),
      checkTables: () => scan.tableFaults(depth === 'full'),
    },
    close: () => scan[Symbol.dispose](),
  }
}

/** Transfers the buffers without copying them. */
function inColumns(rows: LookedRows | undefined): Transfer<LookedRows> | undefined {
  return rows && new Transfer(rows, [rows.places.buffer, rows.digests.buffer, rows.ids.buffer])
}

await serveThread<VerifyWorkerData, NoCalls, LookerCalls>(begin)
