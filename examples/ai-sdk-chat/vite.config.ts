import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const target = process.env.TOOLYARD_URL ?? 'http://127.0.0.1:4747'
const installed = (name: string): string => fileURLToPath(new URL(`../../web/node_modules/${name}`, import.meta.url))

export default defineConfig({
  // This repository has React in web/. A project of your own needs no alias.
  resolve: { alias: { react: installed('react'), 'react-dom': installed('react-dom') } },
  build: { chunkSizeWarningLimit: 2_000 },
  // One origin for the page and the API. Without keys the server refuses other origins, so this names its own.
  preview: {
    host: '127.0.0.1',
    port: 5173,
    proxy: { '/api/ai-sdk': { target, changeOrigin: true, headers: { origin: target } } },
  },
})
