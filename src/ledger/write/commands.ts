/** @module Prepares commands for the write path: limits of the token, the id of a new run, branches, batches. */

import { safeKey } from '../../../projections/run-state.ts'
import type { AnswerTo } from '../../../schemas/answers/commands.ts'
import type { StartRun } from '../../../schemas/requests.ts'
import { asAgent, commandRefusal } from '../../access/check-access.ts'
import type { Refusal } from '../../domain/refusal.ts'
import type { Resolve, RunCommand } from '../../domain/run-command.ts'
import { weigh } from '../../resources/memory-budget.ts'
import { runIdFromKey } from '../../signing/request-mark.ts'
import type { BatchItem, Caller, Command, Ledger, Outcome, RequestInfo } from '../ledger.ts'
import type { Queries } from '../read/queries.ts'
import type { RunList } from '../read/run-list.ts'
import { CarriedLimit } from './carried-limit.ts'
import { startLinked } from './linked-start.ts'
import type { RunWrites } from './write-path.ts'
import { notAttempted, refused } from './write-refusals.ts'

/** Batches below this size are decided in one turn of the event loop. */
const SPREAD_FROM_BYTES = 64 * 1024
/** Bytes in memory per byte of text; lists and numbers weigh more, and are more work too. */
const WEIGHT_OF_A_BYTE = 2

interface CommandDeps {
  readonly write: RunWrites
  readonly queries: Queries
  readonly newId: () => string
  readonly limit: CarriedLimit
}

export function createCommands({
  list,
  ...rest
}: Omit<CommandDeps, 'limit'> & { readonly list: Pick<RunList, 'carried'> }): Pick<Ledger, 'execute' | 'executeBatch'> {
  const isFree = async (caller: Caller, runId: string, fence: number): Promise<boolean> => {
    const found = await rest.queries.read(caller, runId, (state) => state.status === 'open' && state.fence === fence)
    return found.ok && found.value
  }
  const deps = { ...rest, limit: new CarriedLimit((...of) => list.carried(...of), isFree) }
  return {
    // Not async: a promise that resolves to another one costs three more turns.
    execute: <C extends Command>(caller: Caller, runId: string, command: C, info: RequestInfo) =>
      // The decision determines which events a command appends, and so which answer is made of them; the cast relies on that.
      executeOne(deps, caller, { runId, command, info }) as Promise<Outcome<AnswerTo<C>>>,
    executeBatch: (caller, items, info) => executeBatch(deps, { caller, items, info }),
  }
}

function executeOne(
  deps: CommandDeps,
  caller: Caller,
  { runId, command, info }: { readonly runId: string; readonly command: Command; readonly info: RequestInfo },
): Promise<Outcome> {
  const { write, newId } = deps
  const id = command.kind === 'start' ? startedId(caller, { body: command.body, info, newId }) : runId
  const outside = commandRefusal(caller, id, command)
  if (outside !== undefined) return Promise.resolve(refused(outside))
  if (command.kind === 'resolve')
    return withChild(deps, caller, { runId, command }).then((resolve) => write.execute(caller, runId, resolve, info))
  const apart = startApart(deps, caller, { runId: id, command, info })
  return apart ?? write.execute(caller, id, asAgent(caller, command), info)
}

/** The resolution, and the run that does the work of its call if that is open; a token that is bound to the outer run is told, too. */
async function withChild(
  { queries }: Pick<CommandDeps, 'queries'>,
  { run: _, ...caller }: Caller,
  { runId, command }: { readonly runId: string; readonly command: Extract<Command, { kind: 'resolve' }> },
): Promise<Resolve> {
  const child = await queries.read(caller, runId, ({ children }) => children[safeKey(command.callId)])
  if (!child.ok || child.value === undefined) return command
  const { value: openChild } = child
  const isOpen = await queries.read(caller, openChild, ({ status }) => status === 'open')
  return isOpen.ok && isOpen.value ? { ...command, openChild } : command
}

interface Request {
  readonly runId: string
  readonly command: Command
  readonly info: RequestInfo
}

/** A start that involves other runs: a branch, a child, or the take of a worker with a limit; undefined for any other command. */
function startApart(deps: CommandDeps, caller: Caller, request: Request): Promise<Outcome> | undefined {
  const { runId, command, info } = request
  if (command.kind !== 'start') return undefined
  const take = (): Promise<Outcome> => deps.write.execute(caller, runId, asAgent(caller, command), info)
  return startLinked(deps, caller, { runId, command, info }) ?? deps.limit.within(caller, request, take)
}

/** Id of the run to start: the caller's id, else the id of the call whose work it is, else an id derived from the idempotency key, else a new one. */
function startedId(
  caller: Caller,
  { body, info, newId }: { body: StartRun; info: RequestInfo; newId: () => string },
): string {
  const known = body.id ?? body.childOf?.callId
  if (known !== undefined) return known
  return info.idempotency === undefined ? newId() : runIdFromKey(caller.tenant, caller.actor, info.idempotency.key)
}

async function executeBatch(
  deps: CommandDeps,
  { caller, items, info }: { caller: Caller; items: readonly BatchItem[]; info: RequestInfo },
): Promise<readonly Outcome[]> {
  const outcomes = new Array<Outcome>(items.length)
  const byRun = new Map<string, number[]>()
  const stopped = new Set<string>()
  items.forEach((item, index) => {
    const outside = outsideOf(caller, item, stopped)
    const known = byRun.get(item.runId)
    if (outside !== undefined) outcomes[index] = refused(outside)
    else if (known === undefined) byRun.set(item.runId, [index])
    else known.push(index)
  })
  await Promise.all(
    [...byRun].map(async ([runId, indexes]) => {
      const commands = indexes.flatMap((index) => {
        const item = items[index]
        return item === undefined ? [] : [{ command: asAgent(caller, item.command), info: itemInfo(info, index, item) }]
      })
      const settled = await inOrder(deps, caller, { runId, commands })
      settled.forEach((outcome, i) => {
        const index = indexes[i]
        if (index !== undefined) outcomes[index] = outcome
      })
    }),
  )
  return outcomes
}

/** `stopped`: runs of which an envelope was outside the scope of the token; later envelopes of the run would build on it. */
function outsideOf(caller: Caller, { runId, command }: BatchItem, stopped: Set<string>): Refusal | undefined {
  const isEnvelope = command.kind === 'envelope'
  if (isEnvelope && stopped.has(runId)) return notAttempted()
  const outside = commandRefusal(caller, runId, command)
  if (isEnvelope && outside !== undefined) stopped.add(runId)
  return outside
}

/** A start that involves other runs comes first and is executed separately. */
async function inOrder(
  deps: CommandDeps,
  caller: Caller,
  of: { readonly runId: string; readonly commands: readonly Item<Command>[] },
): Promise<readonly Outcome[]> {
  const { runId, commands } = of
  const [first, ...rest] = commands
  if (first === undefined) return []
  const start = startApart(deps, caller, { runId, ...first })
  const inTurn = (items: typeof commands): Promise<Outcome[]> => {
    const execute = (each: readonly Item<RunCommand>[]) => deps.write.executeInOrder(caller, runId, each)
    const prepared = withChildren(deps, caller, { runId, items })
    return prepared instanceof Promise ? prepared.then(execute) : execute(prepared)
  }
  if (start === undefined) return inTurn(commands)
  const started = await start
  return [started, ...(await inTurn(rest))]
}

interface Item<C> {
  readonly command: C
  readonly info: RequestInfo
}

function withChildren(
  deps: CommandDeps,
  caller: Caller,
  { runId, items }: { readonly runId: string; readonly items: readonly Item<Command>[] },
): readonly Item<RunCommand>[] | Promise<readonly Item<RunCommand>[]> {
  if (items.every(({ command }) => command.kind !== 'resolve')) return items
  return Promise.all(
    items.map(async ({ command, info }) => ({
      command: command.kind === 'resolve' ? await withChild(deps, caller, { runId, command }) : command,
      info,
    })),
  )
}

/**
 * Each item has its own idempotency key; the mark covers the index of the item in the batch. The `traceparent` of the request applies to items
 * without one.
 */
function itemInfo(all: RequestInfo, index: number, { command, traceparent = all.traceparent }: BatchItem): RequestInfo {
  const { idempotency } = all
  // Only a large batch can have large items.
  const isLarge = (all.bodyBytes ?? 0) >= SPREAD_FROM_BYTES
  return {
    bodyBytes: isLarge ? Math.ceil(weigh(command) / WEIGHT_OF_A_BYTE) : 0,
    ...(traceparent !== undefined && { traceparent }),
    ...(idempotency !== undefined && { idempotency: { ...idempotency, key: `${idempotency.key}#${index}` } }),
  }
}
