/** @module What the client shows to subclasses only: how it makes its calls, so that ours share its channel, its credentials and its reconnections. */
import type { Duplex } from 'node:stream'
import type { EventStoreDBClient } from '@eventstore/db-client'
import { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js'

/** gRPC metadata and options of a call, which nobody here looks into. */
export type CallArguments = readonly [metadata: unknown, options: unknown]

/** Calls with messages as bytes: whoever makes one writes and reads them. */
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
  /** One call for all who ask, as long as it and its channel last. */
  readonly cache: WeakMap<ByteCalls, T | Promise<T>>
}

/** A call to the leader, without a deadline. Where it ends with an error, the client opens a new channel if that may help. */
export function openCall<T>(client: EventStoreDBClient, { name, create, cache }: StreamCall<T>): Promise<T> {
  const inside = client as unknown as ClientInside
  const make = (calls: ByteCalls): T =>
    create(calls, inside.callArguments({ requiresLeader: true }, { deadline: Number.POSITIVE_INFINITY }))
  return inside.GRPCStreamCreator(StreamsClient, name, make, cache)()
}
