import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { storeContract } from './contract.ts'

storeContract('memory store', async () => openMemoryStore())
