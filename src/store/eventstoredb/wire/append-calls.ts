/**
 * @module Sends all appends to a node over one call of the client's channel, like the client's own batching: each waits for the answer with its
 * correlation id. The outcome of an append that a call leaves unanswered stays open: the sender has to determine it.
 */
import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import type { EventStoreDBClient } from '@eventstore/db-client'
import { unpackToCommandError } from '@eventstore/db-client/dist/streams/appendToStream/unpackError.js'
import { convertToCommandError } from '@eventstore/db-client/dist/utils/CommandError.js'
import { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js'
import streamsPb from '@eventstore/db-client/generated/streams_pb.js'
import { CallEndedError } from '../client-errors.ts'
import { type AppendAnswer, type AppendMessage, appendMessage, readAppendAnswer } from './append-message.ts'

const METHOD = '/event_store.client.streams.Streams/BatchAppend'

/** Revision and position after an append. */
export type Appended = NonNullable<AppendAnswer['success']>

interface Pending {
  readonly stream: string
  readonly resolve: (appended: Appended) => void
  readonly reject: (error: unknown) => void
}

const calls = new WeakMap<ByteCalls, Duplex | Promise<Duplex>>()
/** Pending appends of each open call, by correlation number. */
const waiting = new WeakMap<Duplex, Map<number, Pending>>()

/** Rejects with the client's own errors, including the server's refusals, and with the error that ended the call before the answer arrived. */
export async function appendOverCall(
  client: EventStoreDBClient,
  append: Omit<AppendMessage, 'correlation'>,
): Promise<Appended> {
  const call = await openCall(client, { name: 'appendToStream', create: openAppends, cache: calls })
  const pending = waiting.get(call)
  if (pending === undefined) throw new CallEndedError()
  count += 1
  const number = count
  const message = appendMessage({ ...append, correlation: PREFIX + number.toString(HEX).padStart(COUNTER_DIGITS, '0') })
  return await new Promise((resolve, reject) => {
    pending.set(number, { stream: append.stream, resolve, reject })
    // Backpressure is not needed here: the ledger limits the number of pending appends.
    call.write(message)
  })
}

function openAppends(byteCalls: ByteCalls, more: CallArguments): Duplex {
  const pending = new Map<number, Pending>()
  const call = byteCalls.makeBidiStreamRequest(METHOD, asItIs, asItIs, ...more)
  waiting.set(call, pending)
  const end = (error: unknown): void => {
    waiting.delete(call)
    for (const { reject } of pending.values()) reject(error)
    pending.clear()
  }
  return call
    .on('data', (bytes: Buffer) => take(bytes, pending))
    .on('error', (error: Error) => end(convertToCommandError(error)))
    .on('end', () => end(new CallEndedError()))
}

function asItIs(bytes: Buffer): Buffer {
  return bytes
}

/** An answer without a pending append is ignored: a server may report twice that a request is invalid. */
function take(bytes: Buffer, pending: Map<number, Pending>): void {
  const { correlation, success } = readAppendAnswer(bytes)
  const pendingCall = pending.get(correlation)
  if (pendingCall === undefined) return
  pending.delete(correlation)
  if (success === undefined) pendingCall.reject(refusal(bytes, pendingCall.stream))
  else pendingCall.resolve(success)
}

function refusal(bytes: Buffer, stream: string): unknown {
  try {
    const status = streamsPb.BatchAppendResp.deserializeBinary(bytes).getError()
    return status === undefined ? new CallEndedError() : unpackToCommandError(status, stream)
  } catch (error) {
    return error
  }
}

const PREFIX_BYTES = 10
const COUNTER_DIGITS = 12
const HEX = 16
/** Common prefix of all correlation UUIDs of this process: random digits, followed by the number of the append. */
const PREFIX = randomBytes(PREFIX_BYTES)
  .toString('hex')
  .replace(/^(.{8})(.{4})(.{4})(.{4})$/, '$1-$2-$3-$4-')
let count = 0

// Access to members that the client declares for subclasses only, with which it makes its calls: our calls share its channel, credentials and
// reconnections.

/** gRPC metadata and options of a call, opaque here. */
type CallArguments = readonly [metadata: unknown, options: unknown]

/** Calls with messages as bytes: the caller encodes and decodes them. */
interface ByteCalls {
  makeBidiStreamRequest(
    path: string,
    serialize: (message: Buffer) => Buffer,
    deserialize: (bytes: Buffer) => unknown,
    ...more: CallArguments
  ): Duplex
}

interface ClientInside {
  GRPCStreamCreator<T>(
    service: unknown,
    name: string,
    create: (calls: ByteCalls) => T,
    cache: WeakMap<ByteCalls, T | Promise<T>>,
  ): () => Promise<T>
  callArguments(options: { readonly requiresLeader: boolean }, more: { readonly deadline: number }): CallArguments
}

interface StreamCall<T> {
  readonly name: string
  readonly create: (calls: ByteCalls, more: CallArguments) => T
  /** Shares one call among all callers, as long as the call and its channel last. */
  readonly cache: WeakMap<ByteCalls, T | Promise<T>>
}

/** Opens a call to the leader, without a deadline. If it ends with an error, the client opens a new channel where that may help. */
function openCall<T>(client: EventStoreDBClient, { name, create, cache }: StreamCall<T>): Promise<T> {
  const inside = client as unknown as ClientInside
  const make = (calls: ByteCalls): T =>
    create(calls, inside.callArguments({ requiresLeader: true }, { deadline: Number.POSITIVE_INFINITY }))
  return inside.GRPCStreamCreator(StreamsClient, name, make, cache)()
}
