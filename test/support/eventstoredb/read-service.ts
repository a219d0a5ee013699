/** @module Read: streams and `$all`, both directions, and the subscriptions, which are reads that never end. */
import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js'
import streamsPb from '@eventstore/db-client/generated/streams_pb.js'
import { type handleServerStreamingCall, type ServerWritableStream, status } from '@grpc/grpc-js'
import { refuseAsFollower } from './cluster.ts'
import { type CallError, callError, invalid, streamDeleted, unavailable } from './errors.ts'
import { eventFilter } from './event-filter.ts'
import type { ReadFault } from './faults.ts'
import type { LoggedEvent } from './log.ts'
import { checkpointMessage, confirmationMessage, eventMessage, notFoundMessage, streamName } from './messages.ts'
import type { NodeParts } from './parts.ts'

type ReadCall = ServerWritableStream<ReadReq, ReadResp>

const BACKWARDS = 1
/** A live subscriber further behind than this is dropped, as the real server drops it. */
const SLOW_CONSUMER_EVENTS = 5_000

export function read(parts: NodeParts): handleServerStreamingCall<ReadReq, ReadResp> {
  return (call) => {
    call.on('error', () => undefined)
    serve(parts, call).catch((error: unknown) => call.emit('error', error))
  }
}

async function serve(parts: NodeParts, call: ReadCall): Promise<void> {
  await parts.faults.pass()
  parts.reads += 1
  refuseAsFollower(parts, call.metadata)
  const options = call.request.getOptions()
  if (options === undefined) throw invalid('a read needs its options')
  const direction = options.getReadDirection() === BACKWARDS ? 'backwards' : 'forwards'
  const fault = parts.faults.onRead({ kind: options.hasSubscription() ? 'subscription' : direction })
  if (fault === 'ended') {
    if (options.hasSubscription()) await send(call, confirmationMessage())
    call.end()
    return
  }
  if (fault !== undefined) throw READ_FAULTS[fault]()
  if (options.hasSubscription()) return subscription(parts, call, options)
  if (options.getCount() === '0') throw invalid('maxCount must be positive')

  const found = options.hasStream() ? fromStream(parts, options) : fromAll(parts, options)
  if (typeof found === 'string') await send(call, notFoundMessage(found))
  else {
    for (const event of found) {
      if (!(await send(call, eventMessage(event)))) return
      parts.sent[direction] += 1
    }
  }
  call.end()
}

/** False where nobody listens any more. */
async function send(call: ReadCall, message: ReadResp): Promise<boolean> {
  if (isGone(call)) return false
  if (!call.write(message)) await firstOf(call, ['drain', ...ENDS])
  return !isGone(call)
}

const tooSlow = (): CallError => callError(status.ABORTED, 'Consumer too slow')
const READ_FAULTS: Readonly<Record<Exclude<ReadFault, 'ended'>, () => CallError>> = {
  unavailable,
  'too-slow': tooSlow,
  internal: () => callError(status.INTERNAL, 'Received RST_STREAM with code 0'),
  unknown: () => callError(status.UNKNOWN, 'Exception was thrown by handler.'),
}

const ENDS = ['close', 'cancelled', 'error']

function isGone(call: ReadCall): boolean {
  return call.cancelled || call.destroyed
}

function firstOf(call: ReadCall, names: readonly string[], also?: (resolve: () => void) => () => void): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      stop?.()
      for (const name of names) call.off(name, end)
      resolve()
    }
    for (const name of names) call.once(name, end)
    const stop = also?.(end)
  })
}

/** A string is the name of a stream that does not exist. */
function fromStream({ log }: NodeParts, options: ReadReq.Options): readonly LoggedEvent[] | string {
  const of = options.getStream()
  const name = streamName(of?.getStreamIdentifier())
  const events = log.visible(name)
  if (events === 'missing') return name
  if (events === 'deleted') throw streamDeleted(name)
  const count = Math.min(Number(options.getCount()), events.length)
  if (options.getReadDirection() === BACKWARDS) {
    const last = of?.hasRevision() === true ? BigInt(of.getRevision()) : (events.at(-1)?.revision ?? 0n)
    return events
      .filter(({ revision }) => revision <= last)
      .slice(-count)
      .toReversed()
  }
  if (of?.hasEnd() === true) return []
  return log.range(events, of?.hasRevision() === true ? BigInt(of.getRevision()) : 0n, count)
}

function fromAll({ log }: NodeParts, options: ReadReq.Options): readonly LoggedEvent[] {
  const of = options.getAll()
  const filter = eventFilter(options)
  const count = Number(options.getCount())
  const backwards = options.getReadDirection() === BACKWARDS
  if (backwards ? of?.hasStart() === true : of?.hasEnd() === true) return []
  const position = of?.hasPosition() === true ? BigInt(of.getPosition()?.getCommitPosition() ?? 0) : undefined
  const at = position === undefined ? (backwards ? log.all.length : 0) : indexAt(log.all, position)
  const found: LoggedEvent[] = []
  for (let index = backwards ? at - 1 : at; found.length < count; index += backwards ? -1 : 1) {
    const event = log.all[index]
    if (event === undefined) break
    if (filter.lets(event) && !log.isLost(event)) found.push(event)
  }
  return found
}

/** Index of the first event at or after the position. */
function indexAt(all: readonly LoggedEvent[], position: bigint): number {
  let [low, high] = [0, all.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((all[middle]?.position ?? 0n) < position) low = middle + 1
    else high = middle
  }
  return low
}

interface Follower {
  readonly events: () => readonly LoggedEvent[]
  index: number
}

function followerOf({ log }: NodeParts, options: ReadReq.Options): Follower {
  const [all, stream] = [options.getAll(), options.getStream()]
  if (all !== undefined) {
    if (all.hasPosition()) {
      const after = BigInt(all.getPosition()?.getCommitPosition() ?? 0)
      return { events: () => log.all, index: indexAt(log.all, after + 1n) }
    }
    return { events: () => log.all, index: all.hasEnd() ? log.all.length : 0 }
  }
  const name = streamName(stream?.getStreamIdentifier())
  const visible = (): readonly LoggedEvent[] => {
    const events = log.visible(name)
    if (events === 'deleted') throw streamDeleted(name)
    return events === 'missing' ? [] : events
  }
  if (stream?.hasRevision() !== true)
    return { events: visible, index: stream?.hasEnd() === true ? visible().length : 0 }
  const after = BigInt(stream.getRevision())
  const index = visible().findIndex(({ revision }) => revision > after)
  return { events: visible, index: index < 0 ? visible().length : index }
}

/** Catch-up, then live. Checkpoints tell how far a filter has looked without letting anything through. */
async function subscription(parts: NodeParts, call: ReadCall, options: ReadReq.Options): Promise<void> {
  const filter = eventFilter(options)
  const follower = followerOf(parts, options)
  let live = false
  let looked = 0
  if (!(await send(call, confirmationMessage()))) return
  for (;;) {
    const events = follower.events()
    if (live && events.length - follower.index > SLOW_CONSUMER_EVENTS) throw tooSlow()
    const event = events[follower.index]
    if (event === undefined) {
      if (!live && !(await send(call, caughtUpMessage()))) return
      live = true
      if (!(await appended(parts, call))) return
      continue
    }
    follower.index += 1
    looked += 1
    await parts.faults.pass()
    if (parts.log.isLost(event)) continue
    if (filter.lets(event)) {
      if (!(await send(call, eventMessage(event)))) return
      parts.sent.subscription += 1
    } else if (filter.checkpointEvery > 0 && looked % filter.checkpointEvery === 0) {
      if (!(await send(call, checkpointMessage(event.position)))) return
      parts.sent.checkpoints += 1
    }
  }
}

function caughtUpMessage(): ReadResp {
  const response = new streamsPb.ReadResp()
  response.setCaughtUp(new streamsPb.ReadResp.CaughtUp())
  return response
}

/** False where the call ended first. */
async function appended({ log }: NodeParts, call: ReadCall): Promise<boolean> {
  if (isGone(call)) return false
  await firstOf(call, ENDS, (resolve) => log.onAppended(resolve))
  return !isGone(call)
}
