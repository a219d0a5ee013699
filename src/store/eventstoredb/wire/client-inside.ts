/**
 * @module Access to members that the client declares for subclasses only, with which it makes its calls: our calls share its channel, credentials and
 * reconnections.
 */
import type { Duplex } from 'node:stream'
import type { EventStoreDBClient } from '@eventstore/db-client'
import { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js'

/** gRPC metadata and options of a call, opaque here. */
export type CallArguments = readonly [metadata: unknown, options: unknown]

/** Calls with messages as bytes: the caller encodes and decodes them. */
export interface ByteCalls {
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

export interface StreamCall<T> {
  readonly name: string
  readonly create: (calls: ByteCalls, more: CallArguments) => T
  /** Shares one call among all callers, as long as the call and its channel last. */
  readonly cache: WeakMap<ByteCalls, T | Promise<T>>
}

/** Opens a call to the leader, without a deadline. If it ends with an error, the client opens a new channel where that may help. */
export function openCall<T>(client: EventStoreDBClient, { name, create, cache }: StreamCall<T>): Promise<T> {
  const inside = client as unknown as ClientInside
  const make = (calls: ByteCalls): T =>
    create(calls, inside.callArguments({ requiresLeader: true }, { deadline: Number.POSITIVE_INFINITY }))
  return inside.GRPCStreamCreator(StreamsClient, name, make, cache)()
}
