--- Images: PNG, JPEG and PPM files as tensors, and what is done to pictures
-- before a network sees them.
--
-- A picture is a tensor [C H W], a batch of them [B C H W]; C is 1 for gray, 2
-- for gray and alpha, 3 for RGB, 4 for RGB and alpha. From a file come bytes
-- (uint8, or int32 from 0 to 65535 for 16 bits); `to_float` makes them numbers
-- from 0 to 1.

local image = {}

for _, part in ipairs {"files", "channels", "geometry", "resize"} do
  for name, f in pairs(require("heed.image." .. part)) do image[name] = f end
end

return image
