package main

import (
	"errors"
	"os"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/config"
	"go.temper.dev/temper/internal/image"
	"go.temper.dev/temper/internal/imagecache"
	"go.temper.dev/temper/internal/node"
)

// imagePolicy is which images the site accepts.
func imagePolicy(r config.Rules, to outbound) image.Policy {
	return image.Policy{AllowMD5: r.AllowMD5, Local: r.ImageDownload == node.ImageFromTemper, Reach: to.image}
}

// ownImages is the cache of images of this process.
type ownImages struct {
	*imagecache.Cache
	gone string // folder that no later process would find; "" = it stays
}

func openImageCache(r *config.API, p image.Policy, log *zap.Logger) (ownImages, error) {
	out, dir := ownImages{}, r.ImageCache.Dir
	if dir == "" {
		dir = ownCache("images", r.Listen)
		if anyPort(r.Listen) {
			out.gone = dir
		}
	}
	var err error
	out.Cache, err = imagecache.Open(imagecache.Config{
		Dir: dir, Limit: int64(r.GiB) << 30, Age: r.Age, Raw: r.ForceRaw, Policy: p, Folders: r.Folders,
		Clouds: imagecache.Clouds{File: r.CloudFile, Name: r.Cloud}, Log: log,
	})
	return out, err
}

// Close closes the cache.
func (o ownImages) Close() error {
	err := o.Cache.Close()
	if o.gone != "" {
		err = errors.Join(err, os.RemoveAll(o.gone))
	}
	return err
}
