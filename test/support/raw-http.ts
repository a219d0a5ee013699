/** @module Bytes to a socket and back, for requests that no client library would send. */
import { connect, type Socket } from 'node:net'

/** All that the server answers until it closes the connection, or nothing more comes within `atMostMs`. */
export function exchange(
  port: number,
  bytes: string | Buffer,
  atMostMs = 2_000,
): Promise<{ text: string; closed: boolean }> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    const timer = setTimeout(() => end(false), atMostMs)
    const end = (closed: boolean): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve({ text, closed })
    }
    socket.on('connect', () => socket.write(bytes))
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    socket.on('close', () => end(true))
    socket.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNRESET' || error.code === 'EPIPE' ? end(true) : reject(error),
    )
  })
}

export function opened(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket))
    socket.once('error', reject)
  })
}

export function closing(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.on('error', () => undefined)
    socket.resume()
    if (socket.destroyed) resolve()
    else socket.once('close', () => resolve())
  })
}

export function statusOf(text: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0)
}
