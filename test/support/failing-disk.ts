/** @module A server on a disk that fails under load, again and again: what it tells its clients, and what is there afterwards. */
import type { Test } from 'uvu'
import * as assert from 'uvu/assert'
import type { ApiClient } from './api-client.ts'
import { countersign } from './command-line.ts'
import { armDisk, buildFaultyDisk, type Fault, hasStruck } from './disk-fault.ts'
import { lostOrDoubled, recordedMarks } from './recorded-marks.ts'
import { startServer } from './server-process.ts'
import { type TempFolder, tempFolder } from './temp-folder.ts'
import { eventually } from './within.ts'
import { Workload } from './workload.ts'

const FAULTS: readonly Fault[] = [
  { op: 'sync', error: 'EIO', nth: 1 },
  { op: 'sync', error: 'EIO', nth: 2, times: 2 },
  { op: 'sync', error: 'EIO', nth: 7 },
  { op: 'write', error: 'EIO', nth: 3 },
  { op: 'write', error: 'EIO', nth: 5, cutShort: true },
]

/** For a suite that arms the disk of its servers itself; its claims are skipped where the disk cannot be made. */
export function failingDisk(test: Test) {
  const folder = tempFolder()
  test.after(() => folder[Symbol.dispose]())
  const env = buildFaultyDisk(folder.path)
  if (env === undefined) console.log('skipped: failing syncs, there is no C compiler')
  // The disk is armed from this process, through the file that the server's library maps.
  process.env.DISK_FAULT_FILE = env?.DISK_FAULT_FILE
  return { folder, env, claim: env === undefined ? test.skip : test }
}

async function isReady(client: ApiClient): Promise<true | undefined> {
  return (await client.get('/readyz')).status === 200 ? true : undefined
}

/** Load over one fault; afterwards everything requested is there once. Gives how often clients were told 503. */
async function surviveFault(client: ApiClient, fault: Fault, name: string): Promise<number> {
  const workload = new Workload({ name })
  await workload.startRuns(client)
  const stop = new AbortController()
  const driven = workload.drive(client, stop.signal)
  armDisk(fault)
  await eventually(() => hasStruck() || undefined, `${name}: the fault`)
  await eventually(() => isReady(client), `${name}: the store open again`)
  const acknowledgedBefore = workload.acknowledged.size
  await eventually(() => (workload.acknowledged.size > acknowledgedBefore ? true : undefined), `${name}: new writes`)
  stop.abort()
  await driven

  assert.equal(lostOrDoubled(workload, await recordedMarks(client, workload.runs)), [], name)
  await workload.settle(client)
  assert.equal(workload.unexpected, [], name)
  assert.equal(lostOrDoubled(workload, await recordedMarks(client, workload.runs)), [], name)
  return workload.statuses.get(503) ?? 0
}

/** `env` is that of the library which makes the disk fail; `args` are of the server. */
export async function servesOverFailingDisk(
  folder: TempFolder,
  { env, args = [] }: { readonly env: NodeJS.ProcessEnv; readonly args?: readonly string[] },
): Promise<void> {
  // The library looks at files of this name only.
  const store = folder.file('data/ledger.sqlite')
  await using server = await startServer({
    args: ['--store', store, ...args],
    data: folder.file('data'),
    env,
  })
  const client = server.clientOf(await server.token())
  let [refused, faults] = [0, 0]
  const survive = async (fault: Fault): Promise<void> => {
    refused += await surviveFault(client, fault, `f${faults}`)
    faults += 1
    assert.is((await client.get('/healthz')).status, 200)
  }
  for (const fault of FAULTS) await survive(fault)
  // A fault may meet a write of the server's own, for which no client waits.
  while (refused === 0 && faults < 4 * FAULTS.length) await survive({ op: 'sync', error: 'EIO', nth: 1 })
  assert.ok(refused > 0, 'some were told to come later')
  const warnings = server.output.split('\n').filter((line) => line.includes('the store is not available'))
  assert.ok(warnings.length >= 2 && warnings.length <= 2 * faults, `${warnings.length} lines`)
  assert.match(warnings[0] ?? '', /"file":"[^"]*ledger.sqlite","operation":"fsync","errno":"EIO"/)
  const metrics = (await client.get('/metrics')).text
  assert.match(metrics, /store_faults_total\{operation="fsync",errno="EIO"\} [1-9]/)
  assert.equal(await server.stop(), { code: 0, signal: null })
  const verified = await countersign(['verify', '--data', folder.file('data'), '--store', store])
  assert.is(verified.code, 0, verified.stdout + verified.stderr)
}
