/** @module Delete and tombstone, what the node can do, and who is in its cluster. */

import type { ClusterInfo } from '@eventstore/db-client/generated/gossip_pb.js'
import gossipPb from '@eventstore/db-client/generated/gossip_pb.js'
import type { SupportedMethods } from '@eventstore/db-client/generated/serverfeatures_pb.js'
import featuresPb from '@eventstore/db-client/generated/serverfeatures_pb.js'
import type { Empty } from '@eventstore/db-client/generated/shared_pb.js'
import sharedPb from '@eventstore/db-client/generated/shared_pb.js'
import type { DeleteReq, DeleteResp, TombstoneReq, TombstoneResp } from '@eventstore/db-client/generated/streams_pb.js'
import streamsPb from '@eventstore/db-client/generated/streams_pb.js'
import type { handleUnaryCall } from '@grpc/grpc-js'
import { streamDeleted } from './errors.ts'
import { streamName } from './messages.ts'
import type { NodeParts } from './parts.ts'

export const SERVER_VERSION = '23.10.0'
const STREAMS = 'event_store.client.streams.streams'
const METHODS = ['append', 'batchappend', 'delete', 'tombstone', 'read']

export function deleteStream({ log, faults }: NodeParts): handleUnaryCall<DeleteReq, DeleteResp> {
  return async ({ request }, callback) => {
    await faults.pass()
    const name = streamName(request.getOptions()?.getStreamIdentifier())
    if (log.visible(name) === 'deleted') return callback(streamDeleted(name))
    const position = new streamsPb.DeleteResp.Position()
    const at = String(log.softDelete(name))
    position.setCommitPosition(at)
    position.setPreparePosition(at)
    const response = new streamsPb.DeleteResp()
    response.setPosition(position)
    callback(null, response)
  }
}

export function tombstone({ log, faults }: NodeParts): handleUnaryCall<TombstoneReq, TombstoneResp> {
  return async ({ request }, callback) => {
    await faults.pass()
    const name = streamName(request.getOptions()?.getStreamIdentifier())
    if (log.visible(name) === 'deleted') return callback(streamDeleted(name))
    const position = new streamsPb.TombstoneResp.Position()
    const at = String(log.tombstone(name))
    position.setCommitPosition(at)
    position.setPreparePosition(at)
    const response = new streamsPb.TombstoneResp()
    response.setPosition(position)
    callback(null, response)
  }
}

export function supportedMethods({ faults }: NodeParts, version: string): handleUnaryCall<Empty, SupportedMethods> {
  return async (_call, callback) => {
    await faults.pass()
    const methods = new featuresPb.SupportedMethods()
    methods.setEventStoreServerVersion(version)
    for (const name of METHODS) {
      const method = new featuresPb.SupportedMethod()
      method.setServiceName(STREAMS)
      method.setMethodName(name)
      methods.addMethods(method)
    }
    callback(null, methods)
  }
}

export function gossip({ faults, cluster, port }: NodeParts): handleUnaryCall<Empty, ClusterInfo> {
  return async (_call, callback) => {
    await faults.pass()
    const info = new gossipPb.ClusterInfo()
    const leader = cluster === undefined ? port() : cluster.leader
    for (const each of cluster?.ports ?? [port()]) info.addMembers(memberAt(each, each === leader))
    callback(null, info)
  }
}

function memberAt(port: number, leads: boolean): InstanceType<typeof gossipPb.MemberInfo> {
  const endPoint = new gossipPb.EndPoint()
  endPoint.setAddress('127.0.0.1')
  endPoint.setPort(port)
  const id = new sharedPb.UUID()
  id.setString(crypto.randomUUID())
  const member = new gossipPb.MemberInfo()
  member.setInstanceId(id)
  member.setTimeStamp(String(Date.now()))
  const { LEADER, FOLLOWER } = gossipPb.MemberInfo.VNodeState
  member.setState(leads ? LEADER : FOLLOWER)
  member.setIsAlive(true)
  member.setHttpEndPoint(endPoint)
  return member
}
