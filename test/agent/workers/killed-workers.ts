/**
 * @module Workers that are killed at random while they carry many runs: with approvals, sleeps, signals and runs within them, beside a few runs whose code
 * diverges. Throws where a run does not end, an effect is missing or double, or the ledger does not verify.
 */
import type { ChildProcess } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { type Countersign, connect } from '../../../src/agent/index.ts'
import { cleanEnv, type Ended, endOf, spawnTracked } from '../../support/command-line.ts'
import { ledgerProcesses } from '../../support/ledger-processes.ts'
import { bundledProgram } from '../../support/program.ts'
import { seededRandom } from '../../support/random.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { eventually, within } from '../../support/within.ts'

interface KilledWorkers {
  readonly workers: number
  readonly runs: number
  /** Number of SIGKILLs. */
  readonly kills: number
  readonly seed: number
  /** All runs have ended by then, in milliseconds. */
  readonly withinMs: number
  /** Ledger processes, where the store takes more than one; default 1. */
  readonly ledgers?: number
  /** Told of the progress, some times a minute. */
  readonly told?: (line: string) => void
}

const SCOPES = ['runs:write', 'runs:read', 'payloads:read', 'approvals:write'] as const
const DEEDS = ['reserve', 'pay', 'ship'] as const
/** Runs whose code asks for something else in each life. */
const BROKEN = 3
/** Share of the effects by which the last kill is due. */
const KILLED_BY = 0.95
const TOLD_MS = 10_000

export async function surviveKills(how: KilledWorkers): Promise<void> {
  await using ledger = await ledgerProcesses(how.ledgers ?? 1)
  using folder = tempFolder()
  const { tenant, first, servers } = ledger
  const token = await first.token({ subject: 'clerk', tenant, scopes: SCOPES })
  const approver = await first.token({ subject: 'boss', tenant, scopes: SCOPES })
  await using cs = connect({ url: first.url, token })
  await using boss = connect({ url: servers.at(-1)?.url ?? first.url, token: approver })

  const ids = Array.from({ length: how.runs }, (_, i) => `order-${i}`)
  const broken = Array.from({ length: BROKEN }, (_, i) => `broken-${i}`)
  for (const id of broken) await cs.start('broken', null, { id })
  for (const id of ids) await cs.start('order', id, { id })
  const alive = Array.from({ length: how.workers }, (_, i) => {
    const { url } = servers[i % servers.length] ?? first
    return begin(folder.path, url, token)
  })
  await carriedThrough(how, { cs, boss, ids, alive, folder: folder.path, token })
  await eventually(async () => ((await stuckAmong(cs, broken)) ? true : undefined), 'the runs that diverge to say so')
  for (const { child, works, end } of alive) {
    await within(works, 'a worker that works')
    child.kill('SIGTERM')
    assert.is((await within(end, 'a worker that was stopped')).code, 0)
  }

  assert.equal(deedsIn(folder.path), ids.flatMap((id) => DEEDS.map((deed) => `${id} ${deed}`)).sort())
  for (const id of ids) assert.is(await within(cs.result(id), id), `${id} to street ${id}`)
  await ledger.verify()
}

interface Scene {
  readonly cs: Countersign
  readonly boss: Countersign
  readonly ids: readonly string[]
  readonly alive: Living[]
  readonly folder: string
  readonly token: string
}

/** Grants, signals and kills until every run has ended. */
async function carriedThrough(how: KilledWorkers, { cs, boss, ids, alive, folder, token }: Scene): Promise<void> {
  const random = seededRandom(how.seed)
  const ended = new Set<string>()
  const signalled = new Set<string>()
  const deadline = Date.now() + how.withinMs
  let [kills, toldAt] = [0, 0]
  while (ended.size < ids.length) {
    const open = ids.find((id) => !ended.has(id))
    assert.ok(Date.now() < deadline, `${ended.size} of ${ids.length} runs have ended: ${open} has not`)
    if (Date.now() > toldAt + TOLD_MS) {
      how.told?.(`${ended.size} of ${ids.length} runs have ended, ${kills} kills`)
      toldAt = Date.now()
    }
    for await (const approval of boss.approvals.list()) await boss.approvals.grant(approval)
    for await (const { runId, status } of cs.runs({ name: 'order' })) {
      if (status !== 'open') ended.add(runId)
      else if (!signalled.has(runId)) {
        signalled.add(runId)
        await cs.signal(runId, 'address', `street ${runId}`, { requestId: runId })
      }
    }
    await delay(random() * 300)
    // Spread over all that the runs do: their beginnings, what follows the grants, what follows the signals.
    const share = deedsIn(folder).length / (ids.length * DEEDS.length * KILLED_BY)
    for (; kills < Math.min(how.kills, Math.ceil(share * how.kills)); kills += 1) {
      const at = Math.floor(random() * alive.length)
      const victim = alive[at]
      assert.ok(victim)
      // One that has not begun carries nothing.
      await within(victim.works, 'a worker that works')
      await delay(random() * 300)
      victim.child.kill('SIGKILL')
      await within(victim.end, 'the end of a killed worker')
      alive[at] = begin(folder, victim.url, token)
    }
  }
  assert.is(kills, how.kills)
}

/** Whether all of them are open, and say that their code diverges. */
async function stuckAmong(cs: Countersign, ids: readonly string[]): Promise<boolean> {
  const stuck = new Set<string>()
  for await (const { runId, status, stuck: why } of cs.runs({ name: 'broken' })) {
    assert.is(status, 'open', runId)
    if (why !== undefined && (why as { readonly code?: unknown }).code === 'resume-diverged') stuck.add(runId)
  }
  return ids.every((id) => stuck.has(id))
}

function deedsIn(folder: string): readonly string[] {
  const file = join(folder, 'effects')
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
  return lines.map((line) => line.split(' ').slice(1).join(' ')).sort()
}

interface Living {
  readonly child: ChildProcess
  /** Of the ledger process that it asks. */
  readonly url: string
  readonly works: Promise<unknown>
  readonly end: Promise<Ended>
}

function begin(folder: string, url: string, token: string): Living {
  const command = [process.execPath, bundledProgram('test/agent/workers/killed-worker-child.js'), folder, url, token]
  const child = spawnTracked(command, { env: cleanEnv(), stdio: ['ignore', 'pipe', 'inherit'] })
  const works = new Promise((resolve) => child.stdout?.once('data', resolve))
  return { child, url, works, end: endOf(child) }
}
