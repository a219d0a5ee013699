/** @module Nodes that keep one log, one of which leads. A follower sends whoever asks for the leader there, as real ones do. */
import type { Metadata } from '@grpc/grpc-js'
import { notLeader } from './errors.ts'
import { EventLog } from './log.ts'
import type { NodeParts } from './parts.ts'

export class Cluster {
  readonly log = new EventLog()
  /** Ports of the nodes. */
  readonly ports = new Set<number>()
  /** Port of the leader; undefined while there is none. */
  leader: number | undefined
  /** How many calls would have been content with any node's answer. */
  contentWithAny = 0
}

/** Throws where the caller asks for the leader and this node is none. */
export function refuseAsFollower({ cluster, port }: NodeParts, metadata: Metadata): void {
  if (cluster === undefined) return
  if (metadata.get('requires-leader')[0] !== 'true') cluster.contentWithAny += 1
  else if (cluster.leader !== port()) throw notLeader(cluster.leader)
}
