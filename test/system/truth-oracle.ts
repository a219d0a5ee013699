/** @module One case of the truth oracle: a copy of a history, one damage, and every exit asked at once. */
import { cpSync, writeFileSync } from 'node:fs'
import type { LossItem } from '../../schemas/answers/losses.ts'
import { ledgerStream, SYSTEM_TENANT } from '../../schemas/names.ts'
import { type OpenLedger, openLedger } from '../../src/compose/compose.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import type { Settings } from '../../src/settings/config.ts'
import { pick } from '../support/random.ts'
import { ARCHIVE_DAMAGES, archivedHistory, archivedRun } from './truth-oracle-archives.ts'
import { DAMAGES, type Damage, type Strike } from './truth-oracle-damage.ts'
import { type Answer, askEvery, type Edge, edgeOver } from './truth-oracle-edge.ts'
import { COMMANDS, EXITS, type Exit, LATER, READS, runCommand, WRITE } from './truth-oracle-exits.ts'
import { caseSettings, type History, type OracleKind, TENANTS } from './truth-oracle-history.ts'
import type { Truth } from './truth-oracle-judge.ts'
import { type Row, rowsIn, rowsOn } from './truth-oracle-model.ts'
import { type Served, type Serving, serve } from './truth-oracle-served.ts'
import { serverDamages } from './truth-oracle-server-damage.ts'

export interface Finding {
  readonly exit: string
  /** What is claimed and not so. */
  readonly claim: string
}

export interface Case {
  readonly damage: string
  readonly asked: number
  /** Exits that gave an answer, damaged or not. */
  readonly given: readonly string[]
  readonly refused: readonly { readonly exit: string; readonly status: number; readonly text: string }[]
  readonly findings: readonly Finding[]
  readonly untellable: boolean
  readonly isComplete: boolean
  readonly tenant: string
  readonly run: string
}

interface Asked {
  readonly name: string
  readonly answer: Answer
  readonly judge: Exit['judge']
}

export function damagesOf(kind: OracleKind): Readonly<Record<string, Damage>> {
  return kind === 'sqlite' ? { ...DAMAGES, ...ARCHIVE_DAMAGES } : serverDamages(kind)
}

export interface CaseOptions {
  readonly random: () => number
  /** The beginning of the paths to which exports and bundles are written. */
  readonly keep?: string | undefined
  /** Default: in this process. */
  readonly by?: Serving
  /** Only exits whose name begins so are asked, at once after a start. Default: every exit. */
  readonly only?: string | undefined
}

export async function runCase(
  own: History,
  name: string,
  { random, keep, by = 'module', only }: CaseOptions,
): Promise<Case> {
  const damage = damagesOf(own.kind)[name]
  if (damage === undefined) throw new Error(`no damage ${name}`)
  const history = damage.archived ? await archivedHistory(own) : own
  using folder = history.copyOf(history.late)
  const data = folder.file('data')
  await using server = await history.server?.copy()
  const settings = caseSettings(data, server?.url)
  const rowsNow = async (of: string): Promise<readonly Row[]> =>
    server === undefined ? rowsIn(`${of}/store.db`) : rowsOn(server)
  const tenant = pick(random, TENANTS)
  const run = `${tenant}-${damage.run ?? (damage.archived ? archivedRun(random) : pick(random, ['a', 'b']))}`
  const strike: Strike = { data, server, history, random: replayable(random), tenant, run }
  await done(damage, strike, settings)
  const beside = folder.file('commands')
  if (damage.beside === undefined) cpSync(data, beside, { recursive: true })
  const asked: Asked[] = []
  let recorded: readonly Row[] = []
  let rows = await rowsNow(damage.beside === undefined ? beside : data)
  const truth: Truth = {
    ...{ model: damage.isKnownToLogOnly ? history.model.knownBy(history.followed, rows) : history.model, tenant, run },
    other: `${tenant}-${run.endsWith('-a') ? 'b' : 'a'}`,
    isComplete: damage.beside === undefined && history.model.isWholeIn(rows),
    isAcknowledged: damage.acknowledged === true && damage.afterwards === undefined,
    key: undefined,
    rows: () => rows,
    recorded: () => recorded,
  }
  if (damage.beside === undefined && only === undefined) {
    for (const command of COMMANDS) {
      const answer = await runCommand(command, { data: beside, store: server?.url }, truth)
      asked.push({ name: command.name, judge: command.judge, answer })
    }
  }
  const served = await serve({ data, store: server?.url }, by)
  let now = truth
  if (served !== undefined) {
    await using ledger = served
    if (damage.beside !== undefined) {
      await askEvery(ledger.edge)
      recorded = await rowsNow(data)
      await damage.beside(strike)
      now = { ...truth, isComplete: history.model.isWholeIn(await rowsNow(data)) }
    }
    now = { ...now, key: await ledger.key(tenant) }
    asked.push(...(await (only === undefined ? askAll(ledger, now) : askOnly(only, ledger, now))))
    rows = await rowsNow(data)
  }
  if (keep !== undefined) keepEvidence(asked, keep)
  return judged({ name, damage }, asked, now)
}

/** What is done before anything is asked. */
async function done(damage: Damage, strike: Strike, settings: Settings): Promise<void> {
  await damage.before?.(strike)
  if (damage.putBack !== undefined) {
    await servedMeanwhile(settings, damage)
    await damage.putBack(strike)
  }
  if (damage.acknowledged) await acknowledgeAll(settings)
  await damage.afterwards?.(strike)
}

/** What another checker reads, under the name of its exit. */
function keepEvidence(asked: readonly Asked[], path: string): void {
  for (const { name, answer } of asked) {
    const ending = name.includes('bundle') ? 'tar' : /^export.*jsonl$/.test(name) ? 'jsonl' : undefined
    if (ending !== undefined && isGiven({ answer })) {
      writeFileSync(`${path}-${name.replaceAll(/[^a-z]+/g, '-')}.${ending}`, answer.bytes)
    }
  }
}

/** The same numbers for the damage and for what puts it back. */
function replayable(random: () => number): () => number {
  const drawn = random()
  return () => drawn
}

async function askAll(served: Served, truth: Truth): Promise<readonly Asked[]> {
  const edge = await served.edge(truth.tenant)
  // A checkpoint that meets the record of an export in its stream is dropped, and a bundle then speaks of the checkpoint before: one by one.
  const isBundle = ({ name }: Exit): boolean => name.includes('bundle')
  const asked = await Promise.all(READS.filter((exit) => !isBundle(exit)).map((exit) => ask(exit, edge, truth)))
  for (const exit of READS.filter(isBundle)) asked.push(await ask(exit, edge, truth))
  await served.publish()
  for (const exit of [...LATER, WRITE]) asked.push(await ask(exit, edge, truth))
  return asked
}

async function askOnly(beginning: string, served: Served, truth: Truth): Promise<readonly Asked[]> {
  const edge = await served.edge(truth.tenant)
  const asked: Asked[] = []
  for (const exit of EXITS) if (exit.name.startsWith(beginning)) asked.push(await ask(exit, edge, truth))
  return asked
}

async function ask(exit: Exit, edge: Edge, truth: Truth): Promise<Asked> {
  return { name: exit.name, judge: exit.judge, answer: await exit.ask(edge, truth) }
}

async function servedMeanwhile(settings: Settings, { isUnsigned }: Damage): Promise<void> {
  const opened = await openLedger(settings, silentLog).catch(() => undefined)
  if (opened === undefined) return
  await using ledger = opened
  if (isUnsigned !== true) await ledger.ledger.logs?.publish().catch(() => undefined)
  await askEvery((tenant) => edgeOver(ledger, tenant)).catch(() => undefined)
}

const ACKNOWLEDGED_MAX = 50

/** As somebody does who reads the list of losses, of each tenant, after the ledger has come upon what there is. */
async function acknowledgeAll(settings: Settings): Promise<void> {
  const opened = await openLedger({ ...settings, acknowledges: true }, silentLog).catch(() => undefined)
  if (opened === undefined) return
  await using own = opened
  await askEvery((tenant) => edgeOver(own, tenant)).catch(() => undefined)
  await own.ledger.integrity.scrub()
  for (const tenant of [...TENANTS, SYSTEM_TENANT]) await acknowledgeOf(own, tenant)
  await own.ledger.logs?.publish().catch(() => undefined)
}

async function acknowledgeOf({ ledger }: OpenLedger, tenant: string): Promise<void> {
  const admin = { tenant, actor: 'admin' }
  const refused = new Set<string>()
  for (let times = 0; times < ACKNOWLEDGED_MAX; times += 1) {
    const found = await ledger.lostEvents.list(admin)
    const isLeft = (each: LossItem): boolean => each.state === 'open' && !refused.has(`${each.stream} ${each.revision}`)
    const left = found.ok ? found.value.items.filter((each) => each.stream !== undefined && isLeft(each)) : []
    const next = left.find(({ stream }) => stream === ledgerStream(tenant)) ?? left[0]
    if (next?.stream === undefined || next.revision === undefined) break
    const { stream, revision } = next
    const answer = await ledger.lostEvents.acknowledge(admin, { stream, revision, reason: 'no copy has it' })
    if (!answer.ok) refused.add(`${stream} ${revision}`)
  }
}

/** A 409 is the word of a run that was read. */
const isGiven = ({ answer: { status, cut } }: Pick<Asked, 'answer'>): boolean =>
  (status < 400 || status === 409) && !cut
const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').slice(0, 160)

/** They speak of faults, of which an archive that is elsewhere is none (LIFE-56). */
const OF_FAULTS = new Set([
  ...['page: /ui/overview', 'page: /ui/log', 'page: /ui/runs'],
  ...['readyz: readyz', 'integrity: integrity'],
])

async function judged(
  { name: damageName, damage }: { readonly name: string; readonly damage: Damage },
  asked: readonly Asked[],
  truth: Truth,
): Promise<Case> {
  const findings: Finding[] = []
  for (const { name, answer, judge } of asked) {
    const claim = damage.isAway && OF_FAULTS.has(name) ? undefined : await judge(answer, truth)
    if (claim !== undefined) findings.push({ exit: name, claim })
    const { status, text } = answer
    if (damage.sound && !isGiven({ answer })) {
      findings.push({ exit: name, claim: `refused, with nothing wrong: ${status} ${oneLine(text)}` })
    }
  }
  return {
    ...{ damage: damageName, findings, asked: asked.length, untellable: damage.untellable === true },
    given: asked.filter(isGiven).map(({ name }) => name),
    refused: asked
      .filter((each) => !isGiven(each))
      .map(({ name, answer }) => ({ exit: name, status: answer.status, text: answer.text.slice(0, 200) })),
    ...{ isComplete: truth.isComplete, tenant: truth.tenant, run: truth.run },
  }
}
