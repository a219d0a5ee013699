/** @module Child process: concurrent readers of one path, each repeating its request as soon as it has the answer, until the process is killed. */
import { request } from 'node:http'

const RETRY_MS = 50

const [url = '', token = '', count = '1'] = process.argv.slice(2)

function readOnce(): Promise<number> {
  return new Promise((resolve, reject) => {
    const clientRequest = request(url, { headers: { authorization: `Bearer ${token}` } }, (answer) => {
      answer
        .on('error', reject)
        .on('end', () => resolve(answer.statusCode ?? 0))
        .resume()
    })
    clientRequest.on('error', reject).end()
  })
}

async function readOn(): Promise<never> {
  for (;;) {
    const status = await readOnce()
    if (status !== 200) await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    if (status !== 200 && status !== 429 && status !== 503) throw new Error(`${url}: ${status}`)
  }
}

process.stdout.write('{"reading":true}\n')
await Promise.all(Array.from({ length: Number(count) }, readOn))
