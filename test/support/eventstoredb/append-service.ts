/** @module Append, one call an append, and BatchAppend, one call for all of a client's appends. */
import sharedPb from '@eventstore/db-client/generated/shared_pb.js'
import statusPb from '@eventstore/db-client/generated/status_pb.js'
import type {
  AppendReq,
  AppendResp,
  BatchAppendReq,
  BatchAppendResp,
} from '@eventstore/db-client/generated/streams_pb.js'
import streamsPb from '@eventstore/db-client/generated/streams_pb.js'
import {
  type handleBidiStreamingCall,
  type handleClientStreamingCall,
  type Metadata,
  type ServerDuplexStream,
  status,
} from '@grpc/grpc-js'
import anyPb from 'google-protobuf/google/protobuf/any_pb.js'
import emptyPb from 'google-protobuf/google/protobuf/empty_pb.js'
import { refuseAsFollower } from './cluster.ts'
import { type CallError, invalid, streamDeleted, tooLarge, unavailable } from './errors.ts'
import type { AppendFault } from './faults.ts'
import { type Expected, type LogResult, MAX_APPEND_BYTES, type ProposedEvent } from './log.ts'
import { empty, expectedOf, proposedEvent, streamIdentifier, streamName } from './messages.ts'
import type { NodeParts } from './parts.ts'

interface AppendRequest {
  readonly deadline?: Date | undefined
  readonly stream: string
  readonly expected: Expected
  readonly events: readonly (ProposedEvent | undefined)[]
}

/** What the log said, or the trouble that the node was told to make; `silence`: no answer at all. */
type Reply =
  | LogResult
  | { readonly kind: 'bad' }
  | { readonly kind: 'silence' }
  | { readonly kind: 'unavailable' | 'not-ready' }

async function carryOut(parts: NodeParts, { stream, expected, events, deadline }: AppendRequest): Promise<Reply> {
  await parts.faults.pass()
  const proposed = events.filter((event) => event !== undefined)
  if (proposed.length < events.length) return { kind: 'bad' }
  parts.appends += 1
  const fault = parts.faults.onAppend({
    stream,
    ids: proposed.map(({ id }) => id),
    count: parts.appends,
    deadline,
  })
  if (fault !== undefined && !WRITES.has(fault)) return withoutWriting(parts, fault)
  const result = parts.log.append(stream, expected, proposed)
  if (fault === 'write-and-cut') parts.cut()
  return fault === undefined ? result : { kind: 'silence' }
}

const WRITES: ReadonlySet<AppendFault> = new Set(['lose-answer', 'write-and-cut'])

function withoutWriting(parts: NodeParts, fault: AppendFault): Reply {
  if (fault === 'cut') parts.cut()
  return fault === 'unavailable' || fault === 'not-ready' ? { kind: fault } : { kind: 'silence' }
}

export function unaryAppend(parts: NodeParts): handleClientStreamingCall<AppendReq, AppendResp> {
  return (call, callback) => {
    let options: AppendReq.Options | undefined
    const events: (ProposedEvent | undefined)[] = []
    call.on('data', (request: AppendReq) => {
      if (request.hasOptions()) options = request.getOptions()
      else events.push(proposedEvent(request.getProposedMessage()))
    })
    call.on('error', () => undefined)
    call.on('end', async () => {
      if (options === undefined) return callback(invalid('an append needs its options'))
      const refusal = asFollower(parts, call.metadata)
      if (refusal !== undefined) return callback(refusal)
      const append = { stream: streamName(options.getStreamIdentifier()), expected: expectedOf(options), events }
      const reply = await carryOut(parts, append)
      const error = unaryError(append, reply)
      if (error !== undefined) callback(error)
      else if (reply.kind !== 'silence') callback(null, unaryAnswer(append, reply))
    })
  }
}

/** On the batching path this ends the call for all appends of the client, as it does on a real node. */
function asFollower(parts: NodeParts, metadata: Metadata): CallError | undefined {
  try {
    refuseAsFollower(parts, metadata)
    return undefined
  } catch (error) {
    return error as CallError
  }
}

function unaryError({ stream }: AppendRequest, { kind }: Reply): CallError | undefined {
  if (kind === 'deleted') return streamDeleted(stream)
  if (kind === 'too-large') return tooLarge()
  if (kind === 'bad') return invalid('an event is bad')
  return kind === 'unavailable' || kind === 'not-ready' ? unavailable() : undefined
}

function unaryAnswer({ expected }: AppendRequest, reply: Reply): AppendResp {
  const response = new streamsPb.AppendResp()
  if (reply.kind === 'appended') {
    const success = new streamsPb.AppendResp.Success()
    success.setCurrentRevision(String(reply.revision))
    const position = new streamsPb.AppendResp.Position()
    position.setCommitPosition(String(reply.position))
    position.setPreparePosition(String(reply.position))
    success.setPosition(position)
    response.setSuccess(success)
  }
  if (reply.kind === 'wrong-revision') {
    const wrong = new streamsPb.AppendResp.WrongExpectedVersion()
    if (reply.actual === undefined) wrong.setCurrentNoStream(empty())
    else wrong.setCurrentRevision(String(reply.actual))
    if (expected === 'no-stream') wrong.setExpectedNoStream(empty())
    else if (expected === 'stream-exists') wrong.setExpectedStreamExists(empty())
    else if (expected === 'any') wrong.setExpectedAny(empty())
    else wrong.setExpectedRevision(String(expected))
    response.setWrongExpectedVersion(wrong)
  }
  return response
}

export function batchAppend(parts: NodeParts): handleBidiStreamingCall<BatchAppendReq, BatchAppendResp> {
  return (call) => {
    const open = new Map<
      string,
      { options: BatchAppendReq.Options | undefined; events: (ProposedEvent | undefined)[] }
    >()
    call.on('data', (request: BatchAppendReq) => {
      const correlation = request.getCorrelationId()?.getString() ?? ''
      const batch = open.get(correlation) ?? { options: request.getOptions(), events: [] }
      open.set(correlation, batch)
      batch.events.push(...request.getProposedMessagesList().map(proposedEvent))
      if (!request.getIsFinal() || batch.options === undefined) return
      open.delete(correlation)
      const refusal = asFollower(parts, call.metadata)
      if (refusal !== undefined) return void call.emit('error', refusal)
      const stream = streamName(batch.options.getStreamIdentifier())
      void answerBatch(parts, {
        call,
        correlation,
        append: {
          stream,
          expected: expectedOf(batch.options),
          events: batch.events,
          deadline: batch.options.getDeadline()?.toDate(),
        },
      })
    })
    call.on('end', () => call.end())
    call.on('error', () => undefined)
  }
}

interface BatchPart {
  readonly call: ServerDuplexStream<BatchAppendReq, BatchAppendResp>
  readonly correlation: string
  readonly append: AppendRequest
}

async function answerBatch(parts: NodeParts, { call, correlation, append }: BatchPart): Promise<void> {
  const reply = await carryOut(parts, append)
  if (call.cancelled || call.destroyed || reply.kind === 'silence') return
  if (reply.kind === 'unavailable') return void call.emit('error', unavailable())

  const response = new streamsPb.BatchAppendResp()
  const id = new sharedPb.UUID()
  id.setString(correlation)
  response.setCorrelationId(id)
  response.setStreamIdentifier(streamIdentifier(append.stream))
  if (reply.kind === 'appended') response.setSuccess(batchSuccess(reply))
  else response.setError(batchError(append, reply))
  call.write(response)
  // The real server answers a bad request twice, which its client does not survive.
  if (reply.kind === 'bad') call.write(response)
}

function batchSuccess({ revision, position }: Extract<LogResult, { kind: 'appended' }>): BatchAppendResp.Success {
  const success = new streamsPb.BatchAppendResp.Success()
  success.setCurrentRevision(String(revision))
  const at = new sharedPb.AllStreamPosition()
  at.setCommitPosition(String(position))
  at.setPreparePosition(String(position))
  success.setPosition(at)
  return success
}

function batchError(append: AppendRequest, reply: Reply): InstanceType<typeof statusPb.Status> {
  const [code, message, name, details] = errorDetails(append, reply)
  const error = new statusPb.Status()
  error.setCode(code)
  error.setMessage(message)
  const any = new anyPb.Any()
  any.pack(details.serializeBinary(), name)
  error.setDetails(any)
  return error
}

type Details = readonly [code: number, message: string, name: string, details: { serializeBinary(): Uint8Array }]

function errorDetails({ stream, expected }: AppendRequest, reply: Reply): Details {
  if (reply.kind === 'wrong-revision') {
    const wrong = new sharedPb.WrongExpectedVersion()
    if (reply.actual === undefined) wrong.setCurrentNoStream(new emptyPb.Empty())
    else wrong.setCurrentStreamRevision(String(reply.actual))
    if (expected === 'no-stream') wrong.setExpectedNoStream(new emptyPb.Empty())
    else if (expected === 'stream-exists') wrong.setExpectedStreamExists(new emptyPb.Empty())
    else if (expected === 'any') wrong.setExpectedAny(new emptyPb.Empty())
    else wrong.setExpectedStreamPosition(String(expected))
    return [status.FAILED_PRECONDITION, 'WrongExpectedVersion', 'event_store.client.WrongExpectedVersion', wrong]
  }
  if (reply.kind === 'deleted') {
    const deleted = new sharedPb.StreamDeleted()
    deleted.setStreamIdentifier(streamIdentifier(stream))
    return [status.FAILED_PRECONDITION, 'StreamDeleted', 'event_store.client.StreamDeleted', deleted]
  }
  if (reply.kind === 'too-large') {
    const large = new sharedPb.MaximumAppendSizeExceeded()
    large.setMaxappendsize(MAX_APPEND_BYTES)
    return [status.INVALID_ARGUMENT, 'MaximumAppendSizeExceeded', 'event_store.client.MaximumAppendSizeExceeded', large]
  }
  if (reply.kind === 'bad')
    return [status.INVALID_ARGUMENT, 'BadRequest', 'event_store.client.BadRequest', new sharedPb.BadRequest()]
  return [status.UNKNOWN, 'Server Is Not Ready', 'google.protobuf.Empty', new emptyPb.Empty()]
}
