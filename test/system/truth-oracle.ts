/** @module One case of the truth oracle: a copy of a history, one damage, and every exit asked at once. */
import { cpSync, writeFileSync } from 'node:fs'
import type { LossItem } from '../../schemas/answers/losses.ts'
import { type OpenLedger, openLedger } from '../../src/compose/compose.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import { pick } from '../support/random.ts'
import { DAMAGES, type Strike } from './truth-oracle-damage.ts'
import { type Answer, askEvery, type Edge, edgeOver } from './truth-oracle-edge.ts'
import { COMMANDS, type Exit, LATER, READS, runCommand, WRITE } from './truth-oracle-exits.ts'
import { caseSettings, type History, TENANTS } from './truth-oracle-history.ts'
import type { Truth } from './truth-oracle-judge.ts'
import { rowsIn } from './truth-oracle-model.ts'

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

/** `keep`: the beginning of the paths to which exports and bundles are written. */
export async function runCase(history: History, name: string, random: () => number, keep?: string): Promise<Case> {
  const damage = DAMAGES[name]
  if (damage === undefined) throw new Error(`no damage ${name}`)
  using folder = history.copyOf(history.late)
  const data = folder.file('data')
  const tenant = pick(random, TENANTS)
  const run = `${tenant}-${damage.run ?? pick(random, ['a', 'b'])}`
  const strike: Strike = { data, history, random: replayable(random), tenant, run }
  damage.before?.(strike)
  if (damage.putBack !== undefined) {
    await signedMeanwhile(data)
    damage.putBack(strike)
  }
  if (damage.acknowledged) await acknowledgeAll(data, tenant)
  damage.afterwards?.(strike)
  const beside = folder.file('commands')
  if (damage.beside === undefined) cpSync(data, beside, { recursive: true })
  const asked: Asked[] = []
  let rows = rowsIn(`${damage.beside === undefined ? beside : data}/store.db`)
  const truth: Truth = {
    ...{ model: history.model, tenant, run },
    other: `${tenant}-${run.endsWith('-a') ? 'b' : 'a'}`,
    isComplete: damage.beside === undefined && history.model.isWholeIn(rows),
    key: undefined,
    rows: () => rows,
  }
  if (damage.beside === undefined) {
    for (const command of COMMANDS) {
      asked.push({ name: command.name, judge: command.judge, answer: await runCommand(command, beside, truth) })
    }
  }
  const opened = await openLedger(caseSettings(data), silentLog).catch(() => undefined)
  let now = truth
  if (opened !== undefined) {
    await using ledger = opened
    if (damage.beside !== undefined) {
      await askEvery(ledger)
      damage.beside(strike)
      now = { ...truth, isComplete: history.model.isWholeIn(rowsIn(`${data}/store.db`)) }
    }
    now = { ...now, key: ledger.ledger.logs?.verifierKey(tenant) }
    asked.push(...(await askAll(ledger, now)))
    rows = rowsIn(`${data}/store.db`)
  }
  if (keep !== undefined) keepEvidence(asked, keep)
  return judged(name, asked, now)
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

async function askAll(opened: OpenLedger, truth: Truth): Promise<readonly Asked[]> {
  const edge = await edgeOver(opened, truth.tenant)
  // A checkpoint that meets the record of an export in its stream is dropped, and a bundle then speaks of the checkpoint before: one by one.
  const isBundle = ({ name }: Exit): boolean => name.includes('bundle')
  const asked = await Promise.all(READS.filter((exit) => !isBundle(exit)).map((exit) => ask(exit, edge, truth)))
  for (const exit of READS.filter(isBundle)) asked.push(await ask(exit, edge, truth))
  await opened.ledger.logs?.publish().catch(() => undefined)
  for (const exit of [...LATER, WRITE]) asked.push(await ask(exit, edge, truth))
  return asked
}

async function ask(exit: Exit, edge: Edge, truth: Truth): Promise<Asked> {
  return { name: exit.name, judge: exit.judge, answer: await exit.ask(edge, truth) }
}

async function signedMeanwhile(data: string): Promise<void> {
  const opened = await openLedger(caseSettings(data), silentLog).catch(() => undefined)
  if (opened === undefined) return
  await using ledger = opened
  await ledger.ledger.logs?.publish().catch(() => undefined)
  await askEvery(ledger).catch(() => undefined)
}

const ACKNOWLEDGED_MAX = 20

/** As somebody does who reads the list of losses, after the ledger has come upon what there is. */
async function acknowledgeAll(data: string, tenant: string): Promise<void> {
  const opened = await openLedger(caseSettings(data), silentLog).catch(() => undefined)
  if (opened === undefined) return
  await using own = opened
  const { ledger } = own
  await askEvery(own).catch(() => undefined)
  await ledger.integrity.scrub()
  const admin = { tenant, actor: 'admin' }
  const refused = new Set<string>()
  for (let times = 0; times < ACKNOWLEDGED_MAX; times += 1) {
    const found = await ledger.lostEvents.list(admin)
    const isLeft = (each: LossItem): boolean => each.state === 'open' && !refused.has(`${each.stream} ${each.revision}`)
    const next = found.ok ? found.value.items.find((each) => each.stream !== undefined && isLeft(each)) : undefined
    if (next?.stream === undefined || next.revision === undefined) break
    const { stream, revision } = next
    const answer = await ledger.lostEvents.acknowledge(admin, { stream, revision, reason: 'no copy has it' })
    if (!answer.ok) refused.add(`${stream} ${revision}`)
  }
  await ledger.logs?.publish().catch(() => undefined)
}

/** A 409 is the word of a run that was read. */
const isGiven = ({ answer: { status, cut } }: Pick<Asked, 'answer'>): boolean =>
  (status < 400 || status === 409) && !cut
const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').slice(0, 160)

async function judged(damage: string, asked: readonly Asked[], truth: Truth): Promise<Case> {
  const findings: Finding[] = []
  for (const { name, answer, judge } of asked) {
    const claim = await judge(answer, truth)
    if (claim !== undefined) findings.push({ exit: name, claim })
    const { status, text } = answer
    if (DAMAGES[damage]?.sound && !isGiven({ answer })) {
      findings.push({ exit: name, claim: `refused, with nothing wrong: ${status} ${oneLine(text)}` })
    }
  }
  return {
    ...{ damage, findings, asked: asked.length, untellable: DAMAGES[damage]?.untellable === true },
    given: asked.filter(isGiven).map(({ name }) => name),
    refused: asked
      .filter((each) => !isGiven(each))
      .map(({ name, answer }) => ({ exit: name, status: answer.status, text: answer.text.slice(0, 200) })),
    ...{ isComplete: truth.isComplete, tenant: truth.tenant, run: truth.run },
  }
}
