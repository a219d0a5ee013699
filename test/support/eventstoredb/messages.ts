/** @module Between the protocol's messages and the log's values. */
import sharedPb from '@eventstore/db-client/generated/shared_pb.js'
import type { AppendReq, BatchAppendReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js'
import streamsPb from '@eventstore/db-client/generated/streams_pb.js'
import type { Expected, LoggedEvent, ProposedEvent } from './log.ts'

const TICKS_PER_MS = 10_000n
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function empty(): InstanceType<typeof sharedPb.Empty> {
  return new sharedPb.Empty()
}

export function streamName(identifier: { getStreamName_asU8(): Uint8Array } | undefined): string {
  return Buffer.from(identifier?.getStreamName_asU8() ?? []).toString('utf8')
}

export function streamIdentifier(name: string): InstanceType<typeof sharedPb.StreamIdentifier> {
  const identifier = new sharedPb.StreamIdentifier()
  identifier.setStreamName(Buffer.from(name).toString('base64'))
  return identifier
}

/** Undefined where the server finds the message bad: an id that is no UUID, an empty type. */
export function proposedEvent(
  message: AppendReq.ProposedMessage | BatchAppendReq.ProposedMessage | undefined,
): ProposedEvent | undefined {
  const id = message?.getId()?.getString() ?? ''
  const type = message?.getMetadataMap().get('type') ?? ''
  if (message === undefined || !UUID.test(id) || type === '') return undefined
  return {
    id,
    type,
    contentType: message.getMetadataMap().get('content-type') ?? '',
    data: message.getData_asU8(),
    metadata: message.getCustomMetadata_asU8(),
  }
}

export function expectedOf(options: AppendReq.Options | BatchAppendReq.Options): Expected {
  if (options.hasAny()) return 'any'
  if (options.hasNoStream()) return 'no-stream'
  if (options.hasStreamExists()) return 'stream-exists'
  return BigInt('getRevision' in options ? options.getRevision() : options.getStreamPosition())
}

export function eventMessage(event: LoggedEvent): ReadResp {
  const record = new streamsPb.ReadResp.ReadEvent.RecordedEvent()
  const id = new sharedPb.UUID()
  id.setString(event.id)
  record.setId(id)
  record.setStreamIdentifier(streamIdentifier(event.stream))
  record.setStreamRevision(String(event.revision))
  record.setPreparePosition(String(event.position))
  record.setCommitPosition(String(event.position))
  record.getMetadataMap().set('type', event.type)
  record.getMetadataMap().set('content-type', event.contentType)
  record.getMetadataMap().set('created', String(BigInt(event.createdMs) * TICKS_PER_MS))
  record.setCustomMetadata(event.metadata)
  record.setData(event.data)

  const read = new streamsPb.ReadResp.ReadEvent()
  read.setEvent(record)
  read.setCommitPosition(String(event.position))
  const response = new streamsPb.ReadResp()
  response.setEvent(read)
  return response
}

export function notFoundMessage(stream: string): ReadResp {
  const missing = new streamsPb.ReadResp.StreamNotFound()
  missing.setStreamIdentifier(streamIdentifier(stream))
  const response = new streamsPb.ReadResp()
  response.setStreamNotFound(missing)
  return response
}

export function confirmationMessage(): ReadResp {
  const confirmation = new streamsPb.ReadResp.SubscriptionConfirmation()
  confirmation.setSubscriptionId(crypto.randomUUID())
  const response = new streamsPb.ReadResp()
  response.setConfirmation(confirmation)
  return response
}

export function checkpointMessage(position: bigint): ReadResp {
  const checkpoint = new streamsPb.ReadResp.Checkpoint()
  checkpoint.setCommitPosition(String(position))
  checkpoint.setPreparePosition(String(position))
  const response = new streamsPb.ReadResp()
  response.setCheckpoint(checkpoint)
  return response
}
