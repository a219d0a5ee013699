/** @module A ledger whose checkpoints are time-stamped by an authority of the test, up to a token on record. */
import { randomBytes } from 'node:crypto'
import type { TimestampAuthority } from '../../src/ledger/log/timestamp-authority.ts'
import { sha256 } from '../../src/signing/digests.ts'
import { timestampRequest } from '../../src/timestamps/timestamp-request.ts'
import type { StampingAuthority } from './stamping-authority.ts'
import { type TestLogs, type TestLogsOptions, testLogs } from './test-logs.ts'
import { eventually } from './within.ts'

/** In process: the exchange over HTTP has tests of its own. */
export function stampedBy(tsa: StampingAuthority): TimestampAuthority {
  return {
    name: 'time.example',
    stamp: async (text) => {
      const request = timestampRequest({ digest: sha256(Buffer.from(text)), nonce: randomBytes(8) })
      const reply = await tsa.answer(request)
      return { ok: true, time: new Date().toISOString(), policy: '1.2.3.4.1', serial: '2a', reply }
    },
  }
}

/** A run of `count` handoffs in the log of `acme`, time-stamped, and as many that came after it. */
export async function stampedLogs(tsa: StampingAuthority, options: TestLogsOptions = {}, count = 3): Promise<TestLogs> {
  const stamps = { authority: stampedBy(tsa), intervalMs: 3_600_000 }
  const at = await testLogs({ ...options, stamps })
  await at.fill('acme', 'one', count)
  await eventually(async () => {
    await at.logs.publish()
    return (await at.logs.timestamp('acme')).ok ? true : undefined
  }, 'the time-stamp on record')
  await at.fill('acme', 'two', count)
  return at
}
